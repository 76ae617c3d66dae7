"""Words: expressions written out as sums of coefficient × binders × letters.

`polynomial` reads an expression into words and `expression` writes words back, in the order met.
`symbptt.expr.sums` holds the normal form that decides equations between polynomials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

from sympy import Expr, MatrixSymbol, Pow, S, cancel
from sympy.core.basic import Basic

from symbptt.expr import build, nodes
from symbptt.expr.index import Index, IndexVar, index
from symbptt.expr.nodes import At, Matrix
from symbptt.expr.shape import Shape
from symbptt.expr.walk import free_indices, fresh
from symbptt.expr.walk import substitute as substitute_node

Rule: TypeAlias = Mapping[IndexVar, Index]
Variables: TypeAlias = frozenset[IndexVar]
Anchor: TypeAlias = tuple[tuple[int, str], Index, Variables]

NONE: Variables = frozenset()
UNIT: Shape = (S.One, S.One)
FIXED = (9, "")
"""The kind of a place that cannot be re-indexed: it comes after all others."""



def slot(height: int) -> IndexVar:
    """The bound variable of a letter that holds letters of at most height - 1; no model can use its name."""
    return IndexVar(f"#{height}")


TIME = slot(0)
"""What stands in a leaf's head in place of its time."""


class _Letter:
    """What letters share: all are immutable, hash, and know their indices."""

    __slots__ = ()
    shape: Any

    @property
    def height(self) -> int:
        """How deep bound variables nest inside."""
        return 0


@dataclass(frozen=True, slots=True)
class Leaf(_Letter):
    """A matrix (`time` None), the member at `time` of the family of `head`, or diag(v) of such a column."""

    head: Matrix
    time: Index | None
    transposed: bool = False
    diagonal: bool = False

    @property
    def shape(self) -> Shape:
        return _shape(self.head, self.transposed, self.diagonal)

    @property
    def label(self) -> str:
        """A name free of indices; a leaf and its transpose share it, as scalars can be read either way."""
        return f"{_name(self.head)}{'.diag' * self.diagonal}"

    @property
    def key(self) -> tuple[Any, ...]:
        """A total order of letters."""
        return (0, self.label, self.transposed, () if self.time is None else index_key(self.time))

    def transpose(self) -> Letter:
        symmetric = self.diagonal or self.shape == UNIT
        return self if symmetric else replace(self, transposed=not self.transposed)

    def substitute(self, rule: Rule) -> Letter:
        """The letter with other free indices."""
        if self.time is not None:
            return replace(self, time=self.time.substitute(rule))
        if free_indices(self.head).isdisjoint(rule):
            return self
        return leaf(substitute_node(self.head, rule), self.transposed, self.diagonal)

    def anchors(self, bound: Variables) -> Iterator[Anchor]:
        """((kind, name), index form, variables bound around it) for every index inside."""
        if self.time is not None:
            yield (0, self.label), self.time, bound
        else:
            yield from _fixed(self.head, bound)


class _Repeated(_Letter):
    """What powers and ordered products share."""

    __slots__ = ()
    body: Word
    transposed: bool

    @property
    def shape(self) -> Shape:
        return self.body[0].shape[0], self.body[0].shape[0]



@dataclass(frozen=True, slots=True)
class Power(_Repeated):
    """bodyⁿ, transposed or not; unknown for n < 0."""

    body: Word
    length: Index
    transposed: bool = False

    @property
    def height(self) -> int:
        return height(self.body)

    @property
    def label(self) -> str:
        return f"({label(self.body)})^{'.T' * self.transposed}"

    @property
    def key(self) -> tuple[Any, ...]:
        return (1, self.label, word_key(self.body), index_key(self.length), self.transposed)

    def substitute(self, rule: Rule) -> Letter:
        return Power(substitute_word(self.body, rule), self.length.substitute(rule), self.transposed)

    def anchors(self, bound: Variables) -> Iterator[Anchor]:
        yield from word_anchors(self.body, bound)
        yield (5, self.label), self.length, bound

    def transpose(self) -> Letter:
        return self if self.shape == UNIT else replace(self, transposed=not self.transposed)

    @property
    def ends(self) -> tuple[Index, Index]:
        """The places of the first and the last factor."""
        return index(1), self.length

    def factor(self, place: Index) -> Word:  # noqa: ARG002 - all factors are alike
        """The factor at a place."""
        return self.body

    def stretched(self, left: int, right: Index | int) -> Power:
        """The letter with so many factors more at its ends."""
        return Power(self.body, self.length + left + right)

    def rotated(self, at: int) -> Letter:
        """Y (X Y)ⁿ = (Y X)ⁿ Y: the letter with the Y at a position of its body brought to the front."""
        return Power((self.body[at], *self.body[:at], *self.body[at + 1:]), self.length)


@dataclass(frozen=True, slots=True)
class Run(_Repeated):
    """The product of body over var = lo … hi, lo on the left, or its transpose. Unknown for hi < lo - 1."""

    body: Word
    lo: Index
    hi: Index
    transposed: bool = False

    @property
    def height(self) -> int:
        return height(self.body) + 1

    @property
    def var(self) -> IndexVar:
        """The bound variable, given by the height."""
        return slot(self.height)

    @property
    def label(self) -> str:
        return f"Π({label(self.body)}){'.T' * self.transposed}"

    @property
    def key(self) -> tuple[Any, ...]:
        return (2, self.label, word_key(self.body), index_key(self.hi), index_key(self.lo))

    @property
    def length(self) -> Index:
        """The number of factors."""
        return self.hi - self.lo + 1

    def substitute(self, rule: Rule) -> Letter:
        body = substitute_word(self.body, _without(rule, self.var))
        return Run(body, self.lo.substitute(rule), self.hi.substitute(rule), self.transposed)

    def anchors(self, bound: Variables) -> Iterator[Anchor]:
        yield from word_anchors(self.body, bound | {self.var})
        yield (3, self.label), self.hi, bound
        yield (4, self.label), self.lo, bound

    def transpose(self) -> Letter:
        return self if self.shape == UNIT else replace(self, transposed=not self.transposed)

    @property
    def ends(self) -> tuple[Index, Index]:
        return self.lo, self.hi

    def factor(self, place: Index) -> Word:
        return substitute_word(self.body, {self.var: place})

    def stretched(self, left: int, right: Index | int) -> Run:
        return Run(self.body, self.lo - left, self.hi + right)

    def rotated(self, at: int) -> Letter:
        """Y_{lo-1} Π (X Y)_k = Π (Y_{k-1} X_k) Y_hi, for the Y at a position of the body."""
        front = self.body[at].substitute({self.var: index(self.var) - 1})
        return Run((front, *self.body[:at], *self.body[at + 1:]), self.lo, self.hi)


@dataclass(frozen=True, slots=True)
class Compound(_Letter):
    """A sum of words that serves as one letter, the base of a power or the body of a product."""

    shape: Shape
    items: frozenset[Item]

    @property
    def height(self) -> int:
        return max((height(term.word) + len(term.binders) for term, _ in self.items), default=0)

    @property
    def label(self) -> str:
        return f"({'+'.join(sorted(f'{label(term.word)}{len(term.binders)}' for term, _ in self.items))})"

    @property
    def key(self) -> tuple[Any, ...]:
        return (3, self.label, tuple(map(_item_key, self.ordered)))

    @property
    def ordered(self) -> list[Item]:
        """The items in an order that does not depend on how they were made."""
        return sorted(self.items, key=_item_key)

    def transpose(self) -> Letter:
        flipped = frozenset((Term(term.binders, transposed(term.word)), c) for term, c in self.items)
        return Compound((self.shape[1], self.shape[0]), flipped)

    def substitute(self, rule: Rule) -> Letter:
        return Compound(self.shape, frozenset(substitute_item(item, rule) for item in self.items))

    def anchors(self, bound: Variables) -> Iterator[Anchor]:
        for term, c in self.ordered:
            inner = bound
            for var, lo, hi in term.binders:
                yield (7, self.label), hi, inner
                yield (8, self.label), lo, inner
                inner = inner | {var}
            yield from word_anchors(term.word, inner)
            yield from _fixed(c, inner)


@dataclass(frozen=True, slots=True)
class Running(_Letter):
    """F(end) = Σ_{n=1}^{end} weight(n) body(n), continued below 1 by F(x − 1) = F(x) − weight(x) body(x)."""

    weight: Expr
    body: Word
    end: Index

    @property
    def shape(self) -> Shape:
        core = parted(self.body)[1]
        return (core[0].shape[0], core[-1].shape[1]) if core else UNIT

    @property
    def height(self) -> int:
        return height(self.body) + 1

    @property
    def var(self) -> IndexVar:
        """The bound variable, given by the height."""
        return slot(self.height)

    @property
    def label(self) -> str:
        return f"Σ({label(self.body)})"

    @property
    def key(self) -> tuple[Any, ...]:
        return (4, self.label, word_key(self.body), str(self.weight), index_key(self.end))

    def transpose(self) -> Letter:
        return Running(self.weight, transposed(self.body), self.end)

    def substitute(self, rule: Rule) -> Letter:
        inner = _without(rule, self.var)
        body = substitute_word(self.body, inner)
        return Running(substitute_scalar(self.weight, inner), body, self.end.substitute(rule))

    def anchors(self, bound: Variables) -> Iterator[Anchor]:
        yield from word_anchors(self.body, bound | {self.var})
        yield (6, self.label), self.end, bound
        yield from _fixed(self.weight, bound | {self.var})


Letter: TypeAlias = Leaf | Power | Run | Compound | Running
Word: TypeAlias = tuple[Letter, ...]


class Binding(NamedTuple):
    """Σ over var = lo … hi; zero when hi < lo."""

    var: IndexVar
    lo: Index
    hi: Index


class Term(NamedTuple):
    """Binders, the outermost first, over a word. The empty word is the identity."""

    binders: tuple[Binding, ...]
    word: Word


Item: TypeAlias = tuple[Term, Expr]


@dataclass(frozen=True)
class Polynomial:
    """A sum of coefficient × term, in the order met; no coefficient is zero."""

    shape: Shape
    terms: dict[Term, Expr]

    def __add__(self, other: Polynomial) -> Polynomial:
        return collected(self.shape, [*self.terms.items(), *other.terms.items()])

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + other.scaled(S.NegativeOne)

    def scaled(self, c: Expr) -> Polynomial:
        """The multiple c · p."""
        return collected(self.shape, ((term, c * a) for term, a in self.terms.items()))

    def times(self, other: Polynomial) -> Polynomial:
        """The product p q, distributed; bound variables are kept apart."""
        return collected((self.shape[0], other.shape[1]),
                         (_joined(a, b) for a in self.terms.items() for b in other.terms.items()))

    def transposed(self) -> Polynomial:
        """The transpose pᵀ."""
        return collected((self.shape[1], self.shape[0]),
                         ((Term(term.binders, transposed(term.word)), c) for term, c in self.terms.items()))

    def summed(self, var: IndexVar, lo: Index, hi: Index) -> Polynomial:
        """The sum Σ_{var=lo}^{hi} p."""
        return collected(self.shape, (_bound(item, var, lo, hi) for item in self.terms.items()))

    def substitute(self, rule: Rule) -> Polynomial:
        """The polynomial with other free indices."""
        return collected(self.shape, (substitute_item(item, rule) for item in self.terms.items()))


def word_count(p: Polynomial) -> int:
    """The number of words."""
    return len(p.terms)


# Letters and words ----------------------------------------------------------------

@lru_cache(maxsize=4096)
def _shape(head: Matrix, transposed: bool, diagonal: bool) -> Shape:
    rows, columns = head.shape
    return (rows, rows) if diagonal else (columns, rows) if transposed else (rows, columns)


@lru_cache(maxsize=4096)
def _name(head: Matrix) -> str:
    return f"{head}:{head.shape[0]}×{head.shape[1]}:{type(head).__name__}"


@lru_cache(maxsize=4096)
def _abstracted(node: Matrix) -> tuple[Matrix, Index | None]:
    """The node with `TIME` in place of its time, if all its indices differ by integers; else itself."""
    forms = _times(node)
    if not forms or any((form - forms[0]).terms for form in forms):
        return node, None
    return _retimed(node, forms[0]), forms[0]


def _times(e: Basic) -> list[Index] | None:
    """The index forms in an expression; None where one is bound or part of a coefficient."""
    if isinstance(e, Index):
        return [e]
    if isinstance(e, nodes.Node) and not isinstance(e, nodes.Binder):
        found = [_times(a) for a in e.args]
        return None if None in found else [form for forms in found if forms for form in forms]
    return None if free_indices(e) else []


def _retimed(e: Basic, first: Index) -> Any:
    if isinstance(e, Index):
        return index(TIME) + (e - first).const
    return Basic.__new__(type(e), *[_retimed(a, first) for a in e.args]) if isinstance(e, nodes.Node) else e


def _fixed(e: Basic, bound: Variables) -> Iterator[Anchor]:
    return ((FIXED, index(v), bound) for v in sorted(free_indices(e), key=str))


def _without(rule: Rule, var: IndexVar) -> Rule:
    return {v: form for v, form in rule.items() if v != var} if var in rule else rule


def _item_key(item: Item) -> tuple[Any, ...]:
    return (word_key(item[0].word), str(item[0].binders), str(item[1]))


def leaf(node: Matrix, transposed: bool = False, diagonal: bool = False) -> Leaf:
    """A node as one letter; with `diagonal`, diag(v) of a column v."""
    head, time = _abstracted(node)
    rows, columns = head.shape
    one = (rows, columns) == UNIT
    return Leaf(head, time, transposed and not (one or diagonal), diagonal and not one)


def run(body: Word, var: IndexVar, lo: Index, hi: Index, transposed: bool = False) -> Run:
    """Π_{var=lo}^{hi} body as a letter, its bound variable renamed to the slot of its height."""
    own = slot(height(body) + 1)
    return Run(body if var == own else substitute_word(body, {var: index(own)}), lo, hi, transposed)


def index_key(form: Index) -> tuple[Any, ...]:
    """A total order of index forms."""
    return (tuple((v.name, a) for v, a in form.terms), form.const)


def word_key(word: Word) -> tuple[Any, ...]:
    """A total order of words."""
    return (len(word), *[x.key for x in word])


def label(word: Word) -> str:
    """The name of a word, free of indices."""
    return " ".join(x.label for x in word)


def height(word: Word) -> int:
    """How deep bound variables nest in a word."""
    return max((x.height for x in word), default=0)


def transposed(word: Word) -> Word:
    """(X Y)ᵀ = Yᵀ Xᵀ."""
    return tuple(x.transpose() for x in reversed(word))


def word_anchors(word: Word, bound: Variables = NONE) -> Iterator[Anchor]:
    """((kind, name), index form, variables bound around it) for every index in a word."""
    for x in word:
        yield from x.anchors(bound)


def variables(word: Word) -> Variables:
    """The index variables that occur free in a word."""
    return frozenset(v for _, form, bound in word_anchors(word) for v, _ in form.terms if v not in bound)


def substitute_word(word: Word, rule: Rule) -> Word:
    """The word with other free indices."""
    return tuple(x.substitute(rule) for x in word) if rule else word


def substitute_scalar(c: Expr, rule: Rule) -> Expr:
    """The coefficient with other free indices."""
    touched = {v: rule[v].to_expr() for v in free_indices(c) if v in rule}
    return c.xreplace(touched) if touched else c


def item_variables(item: Item) -> Variables:
    """All index variables of an item, bound ones included."""
    (binders, word), c = item
    own = frozenset(v for b in binders for v in (b.var, *free_indices(b.lo), *free_indices(b.hi)))
    return own | variables(word) | free_indices(c)


def substitute_item(item: Item, rule: Rule) -> Item:
    """The item with other free indices; bound variables step aside."""
    (binders, _), _ = item
    outer = {v: form for v, form in rule.items() if all(v != b.var for b in binders)}
    coming = NONE.union(*(free_indices(form) for form in outer.values()))
    (binders, word), c = apart(item, coming) if binders else item
    moved = tuple(Binding(b.var, b.lo.substitute(outer), b.hi.substitute(outer)) for b in binders)
    return Term(moved, substitute_word(word, outer)), substitute_scalar(c, outer)


def apart(item: Item, taken: Iterable[IndexVar]) -> Item:
    """The same item with bound variables that are not among `taken`."""
    (binders, word), c = item
    avoid = frozenset(taken)
    done: list[Binding] = []
    rule: dict[IndexVar, Index] = {}
    for var, lo, hi in binders:
        new = fresh(var.name, avoid | item_variables(item)) if var in avoid else var
        done.append(Binding(new, lo.substitute(rule), hi.substitute(rule)))
        if new != var:
            rule[var] = index(new)
            avoid |= {new}
    return (Term(tuple(done), substitute_word(word, rule)), substitute_scalar(c, rule)) if rule else item


def _joined(a: Item, b: Item) -> Item:
    if a[0].binders:
        a = apart(a, item_variables(b))
    if b[0].binders:
        b = apart(b, item_variables(a))
    return Term(a[0].binders + b[0].binders, a[0].word + b[0].word), a[1] * b[1]


def _bound(item: Item, var: IndexVar, lo: Index, hi: Index) -> Item:
    outside = free_indices(lo) | free_indices(hi)
    item = apart(item, outside | {var}) if item[0].binders else item
    if var in outside:
        new = fresh(var.name, outside | item_variables(item))
        item, var = substitute_item(item, {var: index(new)}), new
    return Term((Binding(var, lo, hi), *item[0].binders), item[0].word), item[1]


# Coefficients and collecting ----------------------------------------------------------------

def tidy(c: Expr) -> Expr:
    """A coefficient in a form that is zero exactly when it prints as zero."""
    if c.is_Number:
        return c
    c = c.expand()
    return cancel(c) if any(p.base.is_Add and not p.exp.is_nonnegative for p in c.atoms(Pow)) else c


def add(terms: dict[Any, Expr], key: object, c: Expr) -> None:
    """Add c to the coefficient of a key; a coefficient that becomes zero leaves."""
    total = tidy(terms[key] + c if key in terms else c)
    if total == 0:
        terms.pop(key, None)
    else:
        terms[key] = total


def collected(shape: Shape, items: Iterable[Item]) -> Polynomial:
    """The sum of items, equal terms collected."""
    terms: dict[Term, Expr] = {}
    for term, c in items:
        add(terms, term, c)
    return Polynomial(shape, terms)


def single(shape: Shape, *word: Letter) -> Polynomial:
    """One word with coefficient one; without letters the identity."""
    return Polynomial(shape, {Term((), word): S.One})


# Reading ----------------------------------------------------------------

def polynomial(e: Matrix) -> Polynomial:
    """Write an expression out as a sum of words, in the order met; products distribute over sums.

    A power or product of constant length is multiplied out; one of symbolic length is a letter.

    Raises:
        TypeError: a node that has no row in the table of readers.
    """
    try:
        reader = READERS[type(e)]
    except KeyError:
        raise TypeError(f"{type(e).__name__} cannot be written out in words") from None
    return reader(e)


def _read_leaf(e: Matrix) -> Polynomial:
    return single(e.shape, leaf(e))


def _read_plus(e: Matrix) -> Polynomial:
    return collected(e.shape, (item for a in e.args for item in polynomial(a).terms.items()))


def _read_times(e: Matrix) -> Polynomial:
    first, *rest = map(polynomial, e.args)
    for factor in rest:
        first = first.times(factor)
    return first


def _read_power(e: Matrix) -> Polynomial:
    base, exponent = polynomial(e.args[0]), e.args[1]
    if exponent.terms or exponent.const < 0:
        return single(e.shape, Power(as_word(base), exponent))
    return _multiplied(e.shape, [base] * exponent.const)


def _read_product(e: Matrix) -> Polynomial:
    body, length = polynomial(e.body), e.hi - e.lo + 1
    if length.terms or length.const < 0:
        return single(e.shape, run(as_word(body), e.var, e.lo, e.hi))
    return _multiplied(e.shape, [body.substitute({e.var: e.lo + k}) for k in range(length.const)])


def _multiplied(shape: Shape, factors: list[Polynomial]) -> Polynomial:
    total = single(shape)
    for factor in factors:
        total = total.times(factor)
    return total


def as_word(p: Polynomial) -> Word:
    """A square polynomial as one non-empty word; what is no plain product is wrapped in a single letter."""
    if len(p.terms) == 1:
        (term, c), = p.terms.items()
        if c == 1 and not term.binders and chained(term.word, p.shape):
            return term.word
    return (Compound(p.shape, frozenset(p.terms.items())),)


def chained(word: Word, shape: Shape) -> bool:
    """Whether the letters, one after the other, make a matrix product of that shape."""
    sizes = [shape[0], *(size for x in word for size in x.shape), shape[1]]
    return bool(word) and sizes[::2] == sizes[1::2]


def parted(word: Word) -> tuple[list[Word], Word]:
    """A word cut at inner size one: its 1 × 1 factors in the order met, and what is left without them.

    In a word a 1 × 1 factor may stand anywhere: x gᵀd, and gᵀd A for the multiple (gᵀd) A.
    """
    scalars: list[Word] = []
    while True:
        pieces: list[list[Letter]] = []
        cut = True
        for x in word:
            rows, columns = x.shape
            if rows is S.One or cut:
                pieces.append([])
            pieces[-1].append(x)
            cut = columns is S.One
        found = [piece for piece in pieces if piece[0].shape[0] is S.One is piece[-1].shape[1]]
        if not found:
            return scalars, word
        scalars += map(tuple, found)
        word = tuple(x for piece in pieces if piece not in found for x in piece)


READERS: dict[type, Callable[[Any], Polynomial]] = {
    MatrixSymbol: _read_leaf, At: _read_leaf, nodes.Loss: _read_leaf, nodes.LossGradient: _read_leaf,
    nodes.Adjoint: _read_leaf, nodes.Direct: _read_leaf, nodes.Chain: _read_leaf, nodes.Block: _read_leaf,
    nodes.Plus: _read_plus, nodes.Times: _read_times,
    nodes.Multiple: lambda e: replace(polynomial(e.args[0]).times(polynomial(e.args[1])), shape=e.shape),
    nodes.Scale: lambda e: polynomial(e.args[1]).scaled(e.args[0]),
    nodes.Transpose: lambda e: polynomial(e.args[0]).transposed(),
    nodes.Zero: lambda e: Polynomial(e.shape, {}),
    nodes.Identity: lambda e: single(e.shape),
    nodes.Power: _read_power, nodes.Product: _read_product,
    nodes.Sum: lambda e: polynomial(e.body).summed(e.var, e.lo, e.hi),
}


# Writing ----------------------------------------------------------------

def expression(p: Polynomial) -> Matrix:
    """The polynomial as an expression: its words in order, repeated matrices as powers.

    Raises:
        ValueError: it holds a running sum or a diagonal, for which there is no node.
    """
    if not p.terms:
        return nodes.Zero(*p.shape)
    return build.plus(_written(item, p.shape) for item in p.terms.items())


def _written(item: Item, shape: Shape) -> Matrix:
    (binders, word), c = item
    taken = item_variables(item)
    body: Matrix
    if chained(word, shape):
        body = _chain(word, taken)
    else:
        scalars, core = parted(word)
        body = _chain(core, taken) if core else nodes.Identity(shape[0])
        for scalar in reversed(scalars):
            body = nodes.Multiple(_chain(scalar, taken), body)
    scoped = not free_indices(c).isdisjoint(b.var for b in binders)
    body = build.scale(c, body) if scoped else body
    for var, lo, hi in reversed(binders):
        body = nodes.Sum(body, var, lo, hi)
    return body if scoped else build.scale(c, body)


def _chain(word: Word, taken: Variables) -> Matrix:
    factors = (_repeated(_node(x, taken), x, len(list(group))) for x, group in groupby(word))
    return build.times(*(f for factor in factors for f in factor))


def _repeated(node: Matrix, letter: Letter, count: int) -> list[Matrix]:
    constant = isinstance(letter, Leaf) and letter.time is None
    return [nodes.Power(node, index(count))] if constant and count > 1 else [node] * count


def _node(x: Letter, taken: Variables) -> Matrix:
    node: Matrix
    if isinstance(x, Leaf) and not x.diagonal:
        node = x.head if x.time is None else substitute_node(x.head, {TIME: x.time})
    elif isinstance(x, Power):
        node = nodes.Power(_chain(x.body, taken), x.length)
    elif isinstance(x, Run):
        var = fresh("k", taken)
        node = nodes.Product(_chain(x.factor(index(var)), taken | {var}), var, x.lo, x.hi)
    elif isinstance(x, Compound):
        return expression(Polynomial(x.shape, dict(x.ordered)))
    else:
        raise ValueError(f"there is no node for the letter {x.label}")
    return build.transpose(node) if x.transposed else node
