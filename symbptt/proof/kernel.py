"""The inference rules, a function each, and `check`, which replays a proof.

Judgement: hypotheses; assumptions ⊢ left = right. Hypotheses are linear forms ≥ 0 in index variables, assumptions are
equations. T is the number of steps, T ≥ 1; no rule replaces it. A constant stands for any number for which no
denominator in the proof is zero. Only what `check` has just replayed counts as a theorem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from sympy import Expr, MatrixSymbol, S

from symbptt.expr import nodes
from symbptt.expr.index import Index, IndexVar, T, index, nonnegative, t
from symbptt.expr.nodes import At, Binder, Derivative, Matrix, Tangent
from symbptt.expr.walk import free_indices, substitute, visit
from symbptt.proof.axioms import AXIOMS, Refused, require
from symbptt.proof.statement import Definition, Proof, Step, Theorem

Polynomial: TypeAlias = dict[tuple[Matrix, ...], Expr]
Premises: TypeAlias = Sequence[Theorem]
OPERATIONS = (nodes.Plus, nodes.Times, nodes.Scale, nodes.Multiple, nodes.Transpose, nodes.Power, nodes.Sum,
              nodes.Product, nodes.Block, nodes.Loss, nodes.Hadamard, nodes.Apply, nodes.Diagonal, nodes.Norm,
              nodes.Maximum)
"""The classes whose value depends on the values of their operands alone: congruence holds for them."""
PLAIN, PARTS = (str, int, type(None)), (nodes.Node, MatrixSymbol, Index)
"""The classes of arguments: of those that are no expressions, and of those that are."""
MOST = 500
"""How much one theorem may suppose: instances of instances could double it with every step."""


class Context(NamedTuple):
    """Admitted definitions by name, and the index variables that no rule replaces or binds: T, what definitions fix."""

    definitions: dict[str, Definition]
    constants: frozenset[IndexVar]


def _theorem(left: Matrix, right: Matrix, premises: Iterable[Theorem] = (), hypotheses: Iterable[Index] = (),
             used: Iterable[str] = ()) -> Theorem:
    """The theorem under all that the premises suppose; both sides have one shape."""
    require(left.shape == right.shape, "the two sides have shapes {} and {}", left.shape, right.shape)
    premises = tuple(premises)
    holds = frozenset(h for h in hypotheses if h.terms or h.const < 0).union(*(p.hypotheses for p in premises))
    supposed = frozenset().union(*(p.assumptions for p in premises))
    require(len(holds) + len(supposed) <= MOST, "a theorem supposes more than {} things", MOST)
    return Theorem(holds, supposed, left, right, frozenset(used).union(*(p.used for p in premises)))


def _introduced(left: Matrix, right: Matrix, hypotheses: Iterable[Index] = (), used: Iterable[str] = ()) -> Theorem:
    """A theorem about terms that no theorem speaks of yet: they are of the vocabulary, or a TypeError says so."""
    _ = free_indices(left), free_indices(right)
    return _theorem(left, right, (), hypotheses, used)


def reflexivity(_: Context, _premises: Premises, e: Matrix) -> Theorem:
    """Every expression of the vocabulary equals itself.

    ─────────
    ⊢ e = e
    """
    return _introduced(e, e)


def symmetry(_: Context, premises: Premises) -> Theorem:
    """Equality runs both ways.

    H ⊢ a = b
    ─────────
    H ⊢ b = a
    """
    return _theorem(premises[0].right, premises[0].left, premises)


def transitivity(_: Context, premises: Premises) -> Theorem:
    """A chain of equations, each of which begins where the one before ends.

    H ⊢ a = b    K ⊢ b = c    …    M ⊢ y = z
    ────────────────────────────────────────
    H, K, …, M ⊢ a = z
    """
    for p, q in pairwise(premises):
        require(p.right == q.left, "{} is not {}", p.right, q.left)
    return _theorem(premises[0].left, premises[-1].right, premises)


def congruence(context: Context, premises: Premises, e: Matrix, positions: Sequence[int]) -> Theorem:
    """Equals for equals in an operation f, at the positions given.

    H ⊢ a = b    …                          H, i - lo ≥ 0, hi - i ≥ 0 ⊢ a = b
    ───────────────────────────────         ──────────────────────────────────────
    H, … ⊢ f(…, a, …) = f(…, b, …)          H ⊢ Σ_{i=lo}^{hi} a = Σ_{i=lo}^{hi} b

    On the right, for a Σ or Π: i does not occur in H or an assumption, and no definition fixes it.
    """
    require(isinstance(_introduced(e, e).left, OPERATIONS), "{} is no operation on values", e)
    operands = list(e.args)
    for p, k in zip(premises, positions, strict=True):
        require(p.left == operands[k], "{} is not operand {} of {}", p.left, k, e)
        operands[k] = p.right
    inner = [_discharged(context, p, e) for p in premises] if isinstance(e, Binder) else premises
    return _theorem(e, type(e)(*operands), inner)


def _discharged(context: Context, p: Theorem, e: Binder) -> Theorem:
    left = p.hypotheses - set(e.range)
    outside = [*left, *(side for equation in p.assumptions for side in equation)]
    require(e.var not in context.constants and all(e.var not in free_indices(x) for x in outside),
            "a hypothesis, an assumption or a definition speaks of the bound index {}", e.var)
    return replace(p, hypotheses=left)


def ring(_: Context, _premises: Premises, left: Matrix, right: Matrix) -> Theorem:
    """Both sides are the same sum of words in their letters.

    ──────────────
    ⊢ left = right

    The letters are what is no Plus, Times, Scale, Transpose, Zero or Identity. This is associativity, distributivity,
    commutativity of +, scalars, units, (AB)ᵀ = BᵀAᵀ and diag(v)ᵀ = diag(v).
    """
    a, b = words(left), words(right)
    for word in a.keys() | b.keys():
        c, d = a.get(word, S.Zero), b.get(word, S.Zero)
        require((c - d).expand() == 0, "the word {} stands {} times on the left, {} on the right", word, c, d)
    return _introduced(left, right, used=["ring"])


def words(e: Matrix) -> Polynomial:
    """The expression e as a map from words of letters to their coefficients."""
    kind = type(e)
    if kind is nodes.Plus:
        return _collected(term for a in e.args for term in words(a).items())
    if kind is nodes.Times:
        product: Polynomial = {(): S.One}
        for factor in map(words, e.args):
            product = _collected((u + v, c * d) for u, c in product.items() for v, d in factor.items())
        return product
    if kind is nodes.Scale:
        return {word: e.args[0] * c for word, c in words(e.args[1]).items()}
    if kind is nodes.Transpose:
        return {tuple(_turn(a) for a in reversed(word)): c for word, c in words(e.args[0]).items()}
    if kind is nodes.Zero:
        return {}
    return {(): S.One} if kind is nodes.Identity else {(e,): S.One}


def _collected(terms: Iterable[tuple[tuple[Matrix, ...], Expr]]) -> Polynomial:
    total: Polynomial = {}
    for word, c in terms:
        total[word] = total[word] + c if word in total else c
    return total


def _turn(a: Matrix) -> Matrix:
    return a.args[0] if type(a) is nodes.Transpose else a if type(a) is nodes.Diagonal else nodes.Transpose(a)


def axiom(_: Context, _premises: Premises, name: str, *args: object) -> Theorem:
    """An instance of the axiom `name`.

    ───────────────────────────
    conditions ⊢ left = right
    """
    left, right, conditions = _known(AXIOMS, name, "axiom").law(*args)
    return _introduced(left, right, conditions, [name])


def instance(context: Context, premises: Premises, *pairs: tuple[IndexVar, Index]) -> Theorem:
    """Index forms f for index variables v, none of them T or what a definition fixes; no bound index is captured.

    H ⊢ a = b
    ─────────────────────────────────
    H[v := f] ⊢ a[v := f] = b[v := f]
    """
    (p,), rule = premises, {v: index(f) for v, f in pairs}
    moved = [h.substitute(rule) for h in p.hypotheses]
    require(all(isinstance(v, IndexVar) and v not in context.constants for v in rule),
            "{}: T, a variable that the definitions fix, or no index variable", rule)
    kept = replace(p, hypotheses=frozenset(),
                   assumptions=frozenset((substitute(a, rule), substitute(b, rule)) for a, b in p.assumptions))
    return _theorem(substitute(p.left, rule), substitute(p.right, rule), [kept], moved)


def entailment(_: Context, premises: Premises, *hypotheses: Index) -> Theorem:
    """Other index hypotheses K; each form of H is a sum of forms of K, of T - 1 and of a number ≥ 0.

    H ⊢ a = b
    ─────────
    K ⊢ a = b
    """
    (p,), wanted = premises, list(map(index, hypotheses))
    for h in p.hypotheses:
        require(nonnegative(h, [*wanted, index(T) - 1]), "{} ≥ 0 does not follow from {} ≥ 0", h, wanted)
    return _theorem(p.left, p.right, [replace(p, hypotheses=frozenset())], wanted)


def cases(_: Context, premises: Premises, form: Index) -> Theorem:
    """A form f is an integer: it is ≥ 0 or ≤ -1.

    H, f ≥ 0 ⊢ a = b    K, -f - 1 ≥ 0 ⊢ a = b
    ─────────────────────────────────────────
    H, K ⊢ a = b
    """
    p, q = premises
    require((p.left, p.right) == (q.left, q.right), "the two cases prove different equations")
    kept = [replace(r, hypotheses=r.hypotheses - {f}) for r, f in ((p, index(form)), (q, -index(form) - 1))]
    return _theorem(p.left, p.right, kept)


def assumption(_: Context, _premises: Premises, left: Matrix, right: Matrix) -> Theorem:
    """What is assumed follows, and the theorem says that it is assumed.

    ────────────────────────────
    left = right ⊢ left = right
    """
    return replace(_introduced(left, right), assumptions=frozenset([(left, right)]))


def definition(context: Context, premises: Premises, name: str, at: Index | None = None) -> Theorem:
    """Unfold left(t) = right(t) at the time s, a recursion inside its range alone.

    ─────────────────────────────────────────────
    s - lo ≥ 0, hi - s ≥ 0 ⊢ left(s) = right(s)
    """
    d, rule = _known(context.definitions, name, "definition"), {} if at is None else {t: index(at)}
    bounds = () if d.lo is None or d.hi is None else ((index(t) - d.lo).substitute(rule), (d.hi - t).substitute(rule))
    return _theorem(substitute(d.left, rule), substitute(d.right, rule), premises, bounds, [name])


def beyond(context: Context, premises: Premises, name: str, at: Index) -> Theorem:
    """A recursion vanishes past its last time hi.

    ───────────────────────────────
    s - hi - 1 ≥ 0 ⊢ left(s) = 0
    """
    d = _known(context.definitions, name, "definition")
    require(d.hi is not None, "{} is not defined by a recursion", name)
    left = substitute(d.left, {t: index(at)})
    return _theorem(left, nodes.Zero(*left.shape), premises, [index(at) - index(d.hi) - 1], [name])


def induction_down(_: Context, premises: Premises, lo: Index, top: Index) -> Theorem:
    """Downward induction on t, for an equation P(t).

    H ⊢ P(top)    K, t - lo ≥ 0, top - 1 - t ≥ 0, P(t + 1) ⊢ P(t)
    ──────────────────────────────────────────────────────────────
    H, K, t - lo ≥ 0, top - t ≥ 0 ⊢ P(t)

    t occurs in no bound, nor in H or K, their assumptions among them.
    """
    return _induction(premises, top, lo, +1, [index(t) - lo, top - 1 - t], [index(t) - lo, top - t])


def induction_up(_: Context, premises: Premises, bottom: Index, hi: Index) -> Theorem:
    """Upward induction on t, for an equation P(t).

    H ⊢ P(bottom)    K, t - bottom - 1 ≥ 0, hi - t ≥ 0, P(t - 1) ⊢ P(t)
    ─────────────────────────────────────────────────────────────────────
    H, K, t - bottom ≥ 0, hi - t ≥ 0 ⊢ P(t)

    t occurs in no bound, nor in H or K, their assumptions among them.
    """
    return _induction(premises, bottom, hi, -1, [index(t) - bottom - 1, hi - t], [index(t) - bottom, hi - t])


def _induction(premises: Premises, start: Index, end: Index, towards: int, inside: list[Index],
               reached: list[Index]) -> Theorem:
    (base, step), at_start, neighbour = premises, {t: start}, {t: index(t) + towards}
    require((base.left, base.right) == (substitute(step.left, at_start), substitute(step.right, at_start)),
            "the base is not the statement at {}", start)
    others = step.assumptions - {(substitute(step.left, neighbour), substitute(step.right, neighbour))}
    rest = frozenset(h for h in step.hypotheses if not nonnegative(h, inside))
    outside = [start, end, *rest, *base.hypotheses, *(side for pair in others | base.assumptions for side in pair)]
    require(all(t not in free_indices(x) for x in outside),
            "the step uses more than the range of t, or the base or a bound speaks of t")
    return _theorem(step.left, step.right, [replace(step, hypotheses=rest, assumptions=others), base], reached)


INFERENCE: dict[str, Callable[..., Theorem]] = {f.__name__: f for f in (reflexivity, symmetry, transitivity, congruence,
    ring, axiom, instance, entailment, cases, assumption, definition, beyond, induction_down, induction_up)}
"""Every inference rule by name."""


def _known(table: dict[str, Any], name: str, what: str) -> Any:
    require(name in table, "there is no {} {}", what, name)
    return table[name]


def _plain(a: Any) -> bool:
    """Whether an argument is a name, a number, nothing, of the vocabulary, or a list of such; no other object."""
    known = type(a) in PLAIN or nodes.is_scalar(a) or (isinstance(a, PARTS) and free_indices(a) is not None)
    return all(map(_plain, a)) if type(a) in (tuple, list) else known


def replay(proof: Proof) -> list[Theorem]:
    """The theorem of every step.

    Raises:
        Refused: a definition is not well founded, or a step does not follow.
    """
    done, place = list[Theorem](), "the definitions"
    try:
        context = admit(proof.definitions)
        for number, step in enumerate(proof.steps):
            place = f"step {number} ({step.rule})"
            require(type(step) is Step and all(0 <= k < number for k in step.premises) and _plain(step.args),
                    "a premise is not an earlier step, or an argument no plain data")
            done.append(_known(INFERENCE, step.rule, "rule")(context, [done[k] for k in step.premises], *step.args))
    # A shape clash is a TypeError, a refusal a ValueError; the others come of steps not made as their rules want them.
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RuntimeError) as error:
        raise Refused(f"{place}: {error}") from error
    return done


def check(proof: Proof) -> Theorem:
    """Replay a proof and compare what it proves with what it claims.

    Raises:
        Refused: the replay fails, or the last step is not the claim.
    """
    done = replay(proof)
    require(done and done[-1] == proof.claim, "what the steps prove is not what the proof claims")
    return done[-1]


def admit(definitions: Iterable[Definition]) -> Context:
    """The definitions, when each head is defined once at each time and unfolding ends.

    What is defined is a letter, a family member at t or at a fixed time, or ∂L/∂, ∂⁺L/∂ or d of one. Recursions start
    at 1 or later, fixed members stand before 1. Recursions at t mention recursions at t + 1, t + 2, … or, at t, earlier
    ones; those of d mention d at t - 1, t - 2, … or, at t, earlier; d of a fixed member mentions such alone.
    Abbreviations mention what is defined before them.

    Raises:
        Refused: one of these fails.
    """
    listed = tuple(definitions)
    require({*map(type, listed)} <= {Definition} and {type(x) for d in listed for x in (d.lo, d.hi)}
            <= {Index, type(None)}, "what is no Definition, or no range of one, is among them")
    require(len({d.name for d in listed}) == len(listed), "a name is defined twice")
    places: dict[object, list[int]] = {}
    for number, d in enumerate(listed):
        _definable(d)
        same = places.setdefault(_head(d.left)[0], [])
        require(all(_apart(d, listed[k]) for k in same), "{}: {} is defined twice", d.name, d.left)
        same.append(number)
    for number, d in enumerate(listed):
        for node in visit(d.right):
            head, time = _head(node)
            require(all(_ends(d, number, time, listed[k], k) for k in places.get(head, ())),
                    "{} mentions {} where its unfolding need not end", d.name, node)
    free = (x for d in listed for x in (d.left, d.right, d.lo, d.hi) if x is not None)
    return Context({d.name: d for d in listed}, frozenset({T}).union(*map(free_indices, free)) - {t})


def _head(e: Matrix) -> tuple[tuple[type | None, Matrix], Index | None]:
    """The family or letter, with what wraps it, and the time."""
    inner = e.args[0] if isinstance(e, Derivative) else e
    kind = type(e) if inner is not e else None
    return ((kind, inner.family), inner.time) if type(inner) is At else ((kind, inner), None)


def _definable(d: Definition) -> None:
    (_, inner), time = _head(d.left)
    require(type(inner) is MatrixSymbol and (time is None or time == index(t) or not (time.terms or time.const > 0)),
            "{} is neither a letter, nor a member at t or at a time before 1, nor a derivative by one", d.left)
    require(d.left.shape == d.right.shape and (t not in free_indices(d.right) or time == index(t)),
            "the sides of {} differ in shape, or the right one alone depends on t", d.name)
    if d.lo is None or d.hi is None:
        return require(d.lo is d.hi, "{} has half a range", d.name)
    require(time == index(t) and not d.lo.terms and d.lo.const >= 1 and t not in free_indices(d.hi)
            and nonnegative(d.hi - d.lo, [index(T) - 1]),
            "{} is no recursion at t between a number ≥ 1 and a last time that is not before it", d.name)
    return require(not any(isinstance(node, Binder) and node.var == t for node in visit(d.right)),
                   "the recursion {} binds t again", d.name)


def _fixed(d: Definition) -> Index | None:
    """The time of a member at a fixed time."""
    return time if (time := _head(d.left)[1]) is not None and not time.terms else None


def _apart(d: Definition, other: Definition) -> bool:
    """Whether two definitions of one head never speak of one time: fixed members differ, recursions start later."""
    a, b = _fixed(d), _fixed(other)
    return a != b and (None not in (a, b) or (d if a is None else other).lo is not None)


def _ends(d: Definition, number: int, time: Index | None, other: Definition, place: int) -> bool:
    """Whether d, at `number` in the list, may mention at `time` what `other`, at `place`, defines."""
    fixed = _fixed(other)
    if d.lo is None:
        early = isinstance(d.left, Tangent) and _fixed(d) is not None
        if early and (fixed is None or not isinstance(other.left, Tangent)):
            return False
        return place < number or (fixed is not None and time is not None and not time.terms and time != fixed)
    ahead, up = time - t if time is not None else index(t), isinstance(d.left, Tangent)
    if ahead.terms or (other.lo is None and fixed is None) or isinstance(other.left, Tangent) != up:
        return False
    steps = -ahead.const if up else ahead.const
    return steps > 0 or (steps == 0 and (fixed is not None or place < number))
