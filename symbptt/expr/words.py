"""Words: expressions written out as sums of coefficient × binders × letters.

`polynomial` reads an expression into words and `expression` writes words back, in the order met.
`symbptt.expr.sums` holds the normal form that decides equations between polynomials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from typing import Any

from sympy import Expr, MatrixSymbol, S

from symbptt.expr import build, letters, nodes
from symbptt.expr.index import Index, IndexVar, index
from symbptt.expr.letters import Compound, Item, Leaf, Letter, Rule, Run, Term, Variables, Word, transposed
from symbptt.expr.nodes import At, Matrix
from symbptt.expr.scalars import add
from symbptt.expr.shape import Shape
from symbptt.expr.walk import free_indices, fresh
from symbptt.expr.walk import substitute as substitute_node


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
        return collected(self.shape, (letters.substitute_item(item, rule) for item in self.terms.items()))


def word_count(p: Polynomial) -> int:
    """The number of words."""
    return len(p.terms)


def _joined(a: Item, b: Item) -> Item:
    if a[0].binders:
        a = letters.apart(a, letters.item_variables(b))
    if b[0].binders:
        b = letters.apart(b, letters.item_variables(a))
    return Term(a[0].binders + b[0].binders, a[0].word + b[0].word), a[1] * b[1]


def _bound(item: Item, var: IndexVar, lo: Index, hi: Index) -> Item:
    outside = free_indices(lo) | free_indices(hi)
    item = letters.apart(item, outside | {var}) if item[0].binders else item
    if var in outside:
        new = fresh(var.name, outside | letters.item_variables(item))
        item, var = letters.substitute_item(item, {var: index(new)}), new
    return Term((letters.Binding(var, lo, hi), *item[0].binders), item[0].word), item[1]


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


def _read_power(e: Matrix) -> Polynomial:
    base, exponent = polynomial(e.args[0]), e.args[1]
    if exponent.terms or exponent.const < 0:
        return single(e.shape, letters.power(as_word(base), exponent))
    return _multiplied(e.shape, [base] * exponent.const)


def _read_product(e: Matrix) -> Polynomial:
    body, length = polynomial(e.body), e.hi - e.lo + 1
    if length.terms or length.const < 0:
        return single(e.shape, letters.run(as_word(body), e.var, e.lo, e.hi))
    return _multiplied(e.shape, [body.substitute({e.var: e.lo + k}) for k in range(length.const)])


def _read_hadamard(e: Matrix) -> Polynomial:
    """A ∘ b = diag(a) b for columns; of other matrices one letter."""
    if e.shape[1] != S.One:
        return single(e.shape, letters.leaf(e))
    *most, last = sorted(e.args, key=_mixes)
    return _multiplied((e.shape[0], e.shape[0]), map(_diagonal, most)).times(polynomial(last))


def _mixes(v: Matrix) -> bool:
    """Whether a word of the column is more than an elementwise product of letters, such as W h."""
    return any(x.shape[1] != S.One and not (isinstance(x, Leaf) and x.diagonal)
               for term in polynomial(v).terms for x in term.word)


def _diagonal(v: Matrix) -> Polynomial:
    """Diag is linear, diag(1) = I and diag(diag(a) b) = diag(a) diag(b); of other columns a letter each."""
    shape = (v.shape[0], v.shape[0])
    return collected(shape, (_on_diagonal(item, v.shape) for item in polynomial(v).terms.items()))


def _on_diagonal(item: Item, shape: Shape) -> Item:
    (binders, word), c = item
    *most, last = word
    if not binders and isinstance(last, Leaf) and last.shape == shape and not last.transposed \
            and all(isinstance(x, Leaf) and (x.diagonal or x.shape == letters.UNIT) for x in most):
        if type(last.head) is nodes.Ones:
            return Term((), tuple(most)), c
        return Term((), (*most, replace(last, diagonal=shape != letters.UNIT))), c
    column = _written((Term(binders, word), S.One), shape)
    return Term((), (letters.leaf(column, diagonal=True),)), c


def _multiplied(shape: Shape, factors: Iterable[Polynomial]) -> Polynomial:
    return reduce(Polynomial.times, factors, single((shape[0], shape[0])))


def as_word(p: Polynomial) -> Word:
    """A square polynomial as one non-empty word; what is no plain product is wrapped in a single letter."""
    if len(p.terms) == 1:
        (term, c), = p.terms.items()
        if c == 1 and not term.binders and letters.chained(term.word, p.shape):
            return term.word
    return (Compound(p.shape, frozenset(p.terms.items())),)


READERS: dict[type, Callable[[Any], Polynomial]] = {
    **dict.fromkeys((MatrixSymbol, At, nodes.Loss, nodes.LossGradient, nodes.Adjoint, nodes.Direct, nodes.Tangent,
                     nodes.Immediate, nodes.Chain, nodes.Block, nodes.Apply, nodes.Ones, nodes.Delta,
                     nodes.Norm, nodes.Maximum),
                    lambda e: single(e.shape, letters.leaf(e))),
    nodes.Plus: lambda e: collected(e.shape, (item for a in e.args for item in polynomial(a).terms.items())),
    nodes.Times: lambda e: _multiplied(e.shape, map(polynomial, e.args)),
    nodes.Multiple: lambda e: replace(polynomial(e.args[0]).times(polynomial(e.args[1])), shape=e.shape),
    nodes.Hadamard: _read_hadamard,
    nodes.Diagonal: lambda e: _diagonal(e.args[0]),
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
        ValueError: it holds a running sum, for which there is no node.
    """
    if not p.terms:
        return nodes.Zero(*p.shape)
    return build.plus(_written(item, p.shape) for item in p.terms.items())


def _written(item: Item, shape: Shape) -> Matrix:
    (binders, word), c = item
    taken = letters.item_variables(item)
    body: Matrix
    if letters.chained(word, shape):
        body = _chain(word, taken)
    else:
        scalars, core = letters.parted(word)
        body = _chain(core, taken) if core else nodes.Identity(shape[0])
        for scalar in reversed(scalars):
            body = nodes.Multiple(_chain(scalar, taken), body)
    scoped = not free_indices(c).isdisjoint(b.var for b in binders)
    body = build.scale(c, body) if scoped else body
    for var, lo, hi in reversed(binders):
        body = nodes.Sum(body, var, lo, hi)
    return body if scoped else build.scale(c, body)


def _chain(word: Word, taken: Variables) -> Matrix:
    factors: list[Matrix] = []
    for x, group in groupby(word):
        node, count = _node(x, taken), len(list(group))
        constant = isinstance(x, Leaf) and x.time is None
        factors += [nodes.Power(node, index(count))] if constant and count > 1 else [node] * count
    return build.times(*factors)


def _node(x: Letter, taken: Variables) -> Matrix:
    node: Matrix
    if isinstance(x, Leaf):
        node = x.head if x.time is None else substitute_node(x.head, {letters.TIME: x.time})
        node = nodes.Diagonal(node) if x.diagonal else node
    elif isinstance(x, Run) and not x.indexed:
        node = nodes.Power(_chain(x.body, taken), x.length)
    elif isinstance(x, Run):
        var = fresh("k", taken)
        node = nodes.Product(_chain(x.factor(index(var)), taken | {var}), var, x.lo, x.hi)
    elif isinstance(x, Compound):
        return expression(Polynomial(x.shape, dict(x.ordered)))
    else:
        raise ValueError(f"there is no node for the letter {x.label}")
    return build.transpose(node) if x.transposed else node
