"""Equality of sums of 1 × 1 words in which diagonals stand.

A 1 × 1 word is a tree: its places are the indices that are summed over, its edges the matrices, and in each place hang
columns. With 1 the column of ones,

    aᵀ diag(b) M diag(c) d = 1ᵀ diag(a) diag(b) diag(M diag(c) diag(d) 1) 1,

a place is a run of diagonals in order, and what hangs there is a letter or a matrix times a place. Any place may be the
root, for x = 1ᵀ P M Q 1 is its own transpose 1ᵀ Q Mᵀ P 1; of all roots the first form in order is taken.
"""

from __future__ import annotations

from itertools import takewhile

from symbptt.expr.build import times, transpose
from symbptt.expr.nodes import ONE, Diagonal, Identity, Matrix, Ones, Times, Transpose
from symbptt.proof.axioms import Refused
from symbptt.proof.pairing import Scalars
from symbptt.proof.script import Ref

MOST = 60
"""How many roots a word may have."""


class Trees(Scalars):
    """The tactics: 1 × 1 factors as trees, where `Scalars` takes the first of a word and its transpose."""

    def _turned(self, e: Matrix) -> Ref:
        return self._rooted(e) if type(e) is Times else super()._turned(e)

    def _rooted(self, word: Matrix) -> Ref:
        """The word as the first of its trees, by what they are written as."""
        s, start = self.script, self._root(self.script.refl(word))
        if len(_run(s[start].right, 1)) + 2 < len(s[start].right.args):
            return start
        forms, waiting = {s[start].right: start}, [start]
        while waiting:
            done = waiting.pop()
            for diagonal in _run(s[done].right, 1):
                if type(diagonal.args[0]) is not Times:
                    continue
                moved = self._moved(done, diagonal)
                if s[moved].right not in forms:
                    forms[s[moved].right] = moved
                    waiting.append(moved)
            if len(forms) > MOST:
                raise Refused(f"{word} has more than {MOST} trees")
        return forms[min(forms, key=str)]

    def _root(self, done: Ref) -> Ref:
        """From a = rᵀ c: a = 1ᵀ diag(r) diag(x) … 1, in order; 1 × 1 factors stay behind."""
        s = self.script
        first, *rest = s[done].right.args
        r, c = transpose(first), times(*rest)
        hung = self._hung(c)
        done = s.then_ring(done, Times(Transpose(r), c))
        row = Transpose(r)
        parts = {1: hung} if s[hung].right != c else {}
        if type(r) is not Ones:
            lone = self._lone(r)
            parts[0] = s.congruence(row, {0: lone})
        done = s.chain(done, s.congruence(s[done].right, parts)) if parts else done
        return self._arranged(s.then_ring(done, _flat(s[done].right)), 1)

    def _moved(self, done: Ref, diagonal: Matrix) -> Ref:
        """From a = 1ᵀ P diag(M Q 1) 1: a with its root at the other end of M."""
        s, branch = self.script, diagonal.args[0]
        done = self._last(done, 1, diagonal)
        stop = len(s[done].right.args)
        done = self._inside(done, stop - 2, stop, s.sym(self._lone(branch)))
        other = transpose(s[done].right)
        done = s.chain(s.then_ring(done, Transpose(other)), s.axiom("scalar_transpose", other))
        return self._root(done)

    def _hung(self, c: Matrix) -> Ref:
        """A column c = diag(x) … diag(z) 1 in order; 1 × 1 factors behind c stay behind."""
        s = self.script
        core = _until(c)
        behind = (c.args if type(c) is Times else (c,))[len(core):]
        place = next(k for k, a in enumerate(core) if type(a) is not Diagonal)
        parts = {k: s.congruence(a, {0: self._branch(a.args[0])}) for k, a in enumerate(core[:place])}
        last = times(*core[place:])
        if type(last) is not Ones:
            branch = self._branch(last)
            parts[place] = s.chain(branch, self._lone(s[branch].right))
        parts = {k: ref for k, ref in parts.items() if s[ref].left != s[ref].right}
        whole = [*core[:place], last, *behind]
        done = s.ring(c, Times(*whole)) if len(whole) > 1 else s.refl(c)
        if parts:
            done = s.chain(done, s.congruence(s[done].right, parts) if len(whole) > 1 else parts[0])
        return self._arranged(s.then_ring(done, _flat(s[done].right)), 0)

    def _branch(self, x: Matrix) -> Ref:
        """What hangs in a place: a matrix times a column becomes a matrix times a place."""
        s = self.script
        if type(x) is not Times or x.args[0].shape[1] == ONE:
            return s.refl(x)
        rest = times(*x.args[1:])
        hung = self._hung(rest)
        done = s.ring(x, Times(x.args[0], rest))
        if s[hung].right != rest:
            done = s.chain(done, s.congruence(s[done].right, {1: hung}))
        return s.then_ring(done, _flat(s[done].right))

    def _lone(self, x: Matrix) -> Ref:
        """The law x = diag(x) 1."""
        s, ones = self.script, Ones(x.shape[0], ONE)
        unit = s.axiom("diagonal_ones", x.shape[0])
        one = s.ring(x, Times(Identity(x.shape[0]), x))
        return s.chain(one, s.congruence(s[one].right, {0: s.sym(unit)}), self._past(ones, x))

    def _past(self, x: Matrix, c: Matrix) -> Ref:
        """The law diag(x) c = diag(c) x."""
        s = self.script
        return s.chain(s.sym(s.axiom("diagonal_times", x, c)), s.axiom("hadamard_commutes", x, c),
                       s.axiom("diagonal_times", c, x))

    def _arranged(self, done: Ref, start: int) -> Ref:
        """From a = a word: a = the word with the diagonals from `start` on in order, 1 × 1 factors taken out."""
        s = self.script
        while scaled := [a for a in _run(s[done].right, start) if _scaled(a.args[0])]:
            diagonal = scaled[0]
            done = self._last(done, start, diagonal)
            stop, x = start + len(_run(s[done].right, start)), diagonal.args[0]
            done = self._inside(done, stop - 1, stop + 1, s.sym(self._lone(x)))
            core = times(*_until(x))
            done = self._inside(done, stop - 1, stop - 1 + len(_until(x)), self._lone(core))
        for k, diagonal in enumerate(sorted(_run(s[done].right, start), key=str), start):
            for place in range(s[done].right.args.index(diagonal, k), k, -1):
                done = self._exchanged(done, place - 1)
        return done

    def _last(self, done: Ref, start: int, diagonal: Matrix) -> Ref:
        """From a = … diag(x) … 1 …: a = … diag(x) 1 …."""
        word, stop = self.script[done].right, start + len(_run(self.script[done].right, start))
        for place in range(word.args.index(diagonal, start), stop - 1):
            done = self._exchanged(done, place)
        return done

    def _exchanged(self, done: Ref, place: int) -> Ref:
        """From a = … diag(x) diag(z) …: a = … diag(z) diag(x) …."""
        s = self.script
        a, b = (d.args[0] for d in s[done].right.args[place:place + 2])
        product = s.axiom("diagonal_product", a, b)
        turned = s.congruence(s[product].left, {0: s.axiom("hadamard_commutes", a, b)})
        return self._inside(done, place, place + 2, s.chain(s.sym(product), turned, s.axiom("diagonal_product", b, a)))

    def _inside(self, done: Ref, start: int, stop: int, law: Ref) -> Ref:
        """From a = a word: a = the word with the law used on its factors from `start` to `stop`."""
        s, word = self.script, self.script[done].right.args
        if stop - start == len(word):
            return s.chain(done, law)
        done = s.then_ring(done, Times(*word[:start], s[law].left, *word[stop:]))
        done = s.chain(done, s.congruence(s[done].right, {start: law}))
        return s.then_ring(done, times(*word[:start], s[law].right, *word[stop:]))


def _run(word: Matrix, start: int) -> tuple[Matrix, ...]:
    """The diagonals that stand side by side from `start` on."""
    return tuple(takewhile(lambda a: type(a) is Diagonal, word.args[start:] if type(word) is Times else ()))


def _scaled(x: Matrix) -> bool:
    """Whether 1 × 1 factors stand behind the column."""
    return type(x) is Times and len(_until(x)) < len(x.args)


def _until(c: Matrix) -> tuple[Matrix, ...]:
    """The factors of a column up to the first column among them."""
    factors = c.args if type(c) is Times else (c,)
    return factors[:next(k for k, a in enumerate(factors) if a.shape[1] == ONE) + 1]


def _flat(e: Matrix) -> Matrix:
    """A product without products in it, transposes pushed to the letters."""
    if type(e) is not Times:
        return e
    flat: list[Matrix] = []
    for a in e.args:
        a = transpose(a.args[0]) if type(a) is Transpose else a
        flat.extend(a.args if type(a) is Times else (a,))
    return Times(*flat)
