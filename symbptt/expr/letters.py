"""Letters and words: what a product of matrices is made of, its indices, and substitution for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from sympy import Expr, S
from sympy.core.basic import Basic

from symbptt.expr import nodes
from symbptt.expr.index import Index, IndexVar, index
from symbptt.expr.nodes import Matrix
from symbptt.expr.scalars import substitute_scalar
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


@dataclass(frozen=True, slots=True)
class Leaf:
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

    @property
    def height(self) -> int:
        """How deep bound variables nest inside."""
        return 0

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


@dataclass(frozen=True, slots=True)
class Run:
    """The product of body over var = lo … hi, lo on the left, or its transpose. Unknown for hi < lo - 1.

    Not `indexed` it is the power body^hi; then lo is 1.
    """

    body: Word
    lo: Index
    hi: Index
    transposed: bool = False
    indexed: bool = True

    @property
    def shape(self) -> Shape:
        return self.body[0].shape[0], self.body[0].shape[0]

    @property
    def height(self) -> int:
        return height(self.body) + 1

    @property
    def var(self) -> IndexVar:
        """The bound variable, given by the height."""
        return slot(self.height)

    @property
    def label(self) -> str:
        return f"{'Π' * self.indexed}({label(self.body)}){'.T' * self.transposed}"

    @property
    def key(self) -> tuple[Any, ...]:
        return (1 + self.indexed, self.label, word_key(self.body), index_key(self.hi), index_key(self.lo))

    @property
    def length(self) -> Index:
        """The number of factors."""
        return self.hi - self.lo + 1

    def substitute(self, rule: Rule) -> Run:
        body = substitute_word(self.body, _without(rule, self.var))
        return replace(self, body=body, lo=self.lo.substitute(rule), hi=self.hi.substitute(rule))

    def anchors(self, bound: Variables) -> Iterator[Anchor]:
        yield from word_anchors(self.body, bound | {self.var} if self.indexed else bound)
        yield (3, self.label), self.hi, bound
        yield (4, self.label), self.lo, bound

    def transpose(self) -> Run:
        return self if self.shape == UNIT else replace(self, transposed=not self.transposed)

    def factor(self, place: Index) -> Word:
        """The factor at a place; those of a power are all alike."""
        return substitute_word(self.body, {self.var: place}) if self.indexed else self.body

    def stretched(self, left: int, right: Index | int) -> Run:
        """The letter with so many factors more at its ends."""
        if self.indexed:
            return replace(self, lo=self.lo - left, hi=self.hi + right)
        return replace(self, hi=self.hi + left + right)

    def rotated(self, at: int) -> Run:
        """Y_{lo-1} Π (X Y)_k = Π (Y_{k-1} X_k) Y_hi: the letter for the Y at a position of the body."""
        front = self.body[at].substitute({self.var: index(self.var) - 1})
        return replace(self, body=(front, *self.body[:at], *self.body[at + 1:]))


@dataclass(frozen=True, slots=True)
class Compound:
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
class Running:
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


Letter: TypeAlias = Leaf | Run | Compound | Running
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


def run(body: Word, var: IndexVar, lo: Index, hi: Index, transposed: bool = False, indexed: bool = True) -> Run:
    """Π_{var=lo}^{hi} body as a letter, its bound variable renamed to the slot of its height."""
    own = slot(height(body) + 1)
    return Run(body if var == own else substitute_word(body, {var: index(own)}), lo, hi, transposed, indexed)


def power(body: Word, length: Index, transposed: bool = False) -> Run:
    """Body to a power as a letter."""
    return Run(body, index(1), length, transposed, indexed=False)


def number(c: Expr) -> Word:
    """A coefficient as a word; none for one."""
    return () if c == 1 else (Compound(UNIT, frozenset({(Term((), ()), c)})),)


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


def pointwise(word: Word) -> Word:
    """The word with the factors of every elementwise product in order: diag(b) a is diag(a) b, and diag(a) 1 is a.

    A column stands behind its diagonals and comes last of them, a row before them and comes first.
    """
    while any(isinstance(x, Leaf) and x.diagonal for x in word):
        turned = tuple(x.transpose() for x in reversed(word))
        ordered = _in_order(tuple(x.transpose() for x in reversed(_in_order(turned, 1))), -1)
        if ordered == word:
            break
        word = ordered
    return word


def _in_order(word: Word, sign: int) -> Word:
    """Each column and the diagonals before it, the greatest of them as the column, or with sign 1 the least."""
    made: list[Letter] = []
    for x in word:
        group = [x] if isinstance(x, Leaf) else []
        while group and _is_column(x) and made and isinstance(last := made[-1], Leaf) and last.diagonal:
            group.append(last)
            made.pop()
        if len(group) < 2:
            made.append(x)
            continue
        columns = sorted((replace(y, diagonal=False) for y in group), key=lambda y: y.key)[::-sign]
        kept = [y for y in columns if type(y.head) is not nodes.Ones] or columns[:1]
        made += [*(replace(y, diagonal=True) for y in kept[:-1]), kept[-1]]
    return tuple(made)


def _is_column(x: Letter) -> bool:
    return isinstance(x, Leaf) and not (x.diagonal or x.transposed) and x.shape[1] == S.One != x.shape[0]


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


def apart(item: Item, taken: Iterable[IndexVar], name: str = "") -> Item:
    """The same item with bound variables that are not among `taken`; with `name`, all are called so, primed."""
    (binders, word), c = item
    taken = frozenset(taken)
    if not name and all(b.var not in taken for b in binders):
        return item
    used = taken | item_variables(item)
    done: list[Binding] = []
    rule: dict[IndexVar, Index] = {}
    for var, lo, hi in binders:
        new = fresh(name or var.name, used) if name or var in taken else var
        done.append(Binding(new, lo.substitute(rule), hi.substitute(rule)))
        if new != var:
            rule[var] = index(new)
            used |= {new}
    return Term(tuple(done), substitute_word(word, rule)), substitute_scalar(c, rule)


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
