"""From the outline to text: one `Writer` for each format fills the templates, which only loop and place."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import log10
from typing import Any

from symbptt.derivation import Derivation
from symbptt.expr.index import T, index, t
from symbptt.expr.nodes import At, Block, Matrix
from symbptt.render import chain, forward, reuse, solution
from symbptt.render.accepted import Accepted
from symbptt.render.accepted import section as checked
from symbptt.render.accumulation import accumulation
from symbptt.render.code import folded
from symbptt.render.glue import glued, unglued
from symbptt.render.layout import Layout
from symbptt.render.outline import (
    OBJECTIVE,
    AtLeast,
    Before,
    Code,
    Count,
    Display,
    Dots,
    Equal,
    Expected,
    Formula,
    Heading,
    Listing,
    Paragraph,
    Phrase,
    Ref,
    Relation,
    Run,
    Scalar,
    Section,
    Sentence,
    Several,
    Space,
    Span,
    Steps,
    Value,
    Verbatim,
    When,
    say,
)
from symbptt.render.structure import Printer
from symbptt.render.symbols import Level, Symbols
from symbptt.render.target import environment, stamp
from symbptt.render.truncation import truncation
from symbptt.render.words import LANGUAGES, Language

MARGIN = 6
"""The space between a formula and the reason beside it, with the brackets of the reason."""
EXACT = 10 ** 12
"""Numbers from here on are given by a power of ten."""
NARROW = 30
"""A left side that leaves less room stands above the right ones."""
MOST, BEGINNING = 60, 8
"""A formula of more lines than the first is cut after as many as the second."""
CUTS = ((MOST, 30), (2 * MOST, BEGINNING + 2))
"""In a display of more lines than a pair's first, so is a formula of more lines than its second."""
SHORT = 3
"""Up to so many members of a family are listed; more are written with dots."""


def outline(d: Derivation, accepted: Accepted | None = None) -> tuple[Section, ...]:
    """The sections of a derivation in reading order; what Coq accepted is the last one where it was asked."""
    sections = (forward.model(d), forward.graph(d), chain.derivation(d), chain.written(d), solution.closed(d),
                solution.proof(d), chain.gradients(d), chain.static(d), chain.ends(d),
                accumulation(d), truncation(d), reuse.storage(d), reuse.basis(d),
                None if accepted is None else checked(accepted, d.model))
    return tuple(s for s in sections if s is not None)


def opening(d: Derivation) -> Sentence:
    """What the document derives and proves, and where."""
    titles = ("model", "derivation", "gradients", "closed", "proof")
    places: dict[str, Value] = {"objective": Formula(OBJECTIVE), **{title: Heading(title) for title in titles}}
    return say("opening" if d.induction is not None else "opening_plain", **places)


@dataclass(frozen=True)
class Format:
    """What a document format adds to a notation: how wide a display is, escapes, delimiters, references.

    symbols write displays, running writes formulas within sentences; escape is for words, code for lines of code.
    """

    name: str
    suffix: str
    symbols: type[Symbols]
    ruler: type[Symbols]
    running: type[Symbols]
    width: int
    escape: Callable[[str], str]
    inline: str
    ref: str
    condition: str
    note: str
    code: Callable[[str], str]
    plain: bool = False


@dataclass(frozen=True)
class Row:
    """One line of a display."""

    left: str
    body: str
    note: str = ""


@dataclass(frozen=True)
class Placed:
    """An item in a notation and a language, for the template of its name."""

    template: str
    text: str = ""
    points: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    label: str | None = None


@dataclass(frozen=True)
class Part:
    """A section in a notation and a language."""

    title: str
    items: tuple[Placed, ...]


class Writer:
    """Writes the outline in one format and language."""

    def __init__(self, form: Format, language: Language) -> None:
        self.form, self.language = form, language
        self.print, self.ruler = Printer(form.symbols()), Printer(form.ruler())
        self.layout = Layout(self.print, self.ruler)
        self.symbols, self.running = self.print.symbols, Printer(form.running())

    def sentence(self, s: Sentence) -> str:
        """The sentence with formulas in their places."""
        places = dict(s.places)
        many = any(isinstance(places.get(name), Several) for name in COUNTED)
        key = f"{s.key}_more" if many and f"{s.key}_more" in self.language.sentences else s.key
        return self.language.sentences[key].format(**{name: self.value(v) for name, v in places.items()})

    def value(self, v: Value) -> str:
        """What stands in a place of a sentence."""
        return VALUES[type(v)](self, v)

    def math(self, text: str) -> str:
        """Inline mathematics."""
        return glued(text) if self.form.plain else f"{self.form.inline}{text}{self.form.inline}"

    def heading(self, v: Heading) -> str:
        """The title of a section, as sentences name it."""
        return self.form.escape(self.language.sentences["heading"].format(title=self.language.titles[v.title]))

    def count(self, number: int) -> str:
        """A number in digits, or the power of ten that it exceeds."""
        if number < EXACT:
            return str(number)
        power = self.math(self.symbols.power("10", str(int(log10(number)))))
        return self.language.sentences["power_of_ten"].format(number=power)

    def bound(self, v: AtLeast) -> str:
        """A bound of times; what the last step bounds stands first, as t ≤ T."""
        left, right = self.print.index(v.left), self.print.index(v.right)
        last = T in dict(v.left.terms) and v.right.terms
        return f"{right} {self.symbols.at_most} {left}" if last else f"{left} {self.symbols.at_least} {right}"

    def times(self, v: When) -> str:
        """The range of t."""
        low, high, s = self.print.index(v.lo), self.print.index(v.hi), self.symbols
        name = self.print.index(index(t))
        first = f" {s.at_least} {self.print.index(index(1))}"
        early = bool(v.lo.terms) and (v.lo - T).const < 0
        if v.lo != v.hi:
            last = f" {s.at_most} {self.print.index(v.last)}" if v.last is not None else ""
            return f"{low} {s.at_most} {name} {s.at_most} {high}{last}{f', {name}{first}' if early else ''}"
        return f"{name} {s.equal} {low}{first if early else ''}"

    def expected(self, v: Expected) -> str:
        """The mean of a random variable, and what it is equal to."""
        mean = self.symbols.expected(self.running(v.variable))
        return f" {self.symbols.equal} ".join([mean, *map(self.running, v.values)])

    def run(self, v: Run) -> str:
        """Members of a family from one time to another."""
        count = v.last.time - v.first.time
        if count == index(0):
            return self.print(v.first)
        if not count.terms and count.const < SHORT:
            members = (At(v.first.family, v.first.time + k) for k in range(count.const + 1))
            return self.symbols.comma.join(map(self.print, members))
        return self.symbols.comma.join([self.print(v.first), self.symbols.dots, self.print(v.last)])

    def space(self, v: Space) -> str:
        """The space of a variable."""
        rows, columns = v.variable.shape
        several = [n for n in (rows, columns) if n != 1]
        loose = Level.SUM if len(several) > 1 else None
        sides = [self.print.size(n) if loose is None else self.print.inside(self.print.scalar(n), loose)
                 for n in ((rows, columns) if columns != 1 else several)]
        s = self.symbols
        reals = s.power(s.reals, f" {s.cross} ".join(sides)) if sides else s.reals
        return f"{self.print(v.variable)} {s.element} {reals}"

    def fits(self, d: Display) -> bool:
        """Whether every reason has room beside its row."""
        width = self._room(d.left)
        relations = self._fitting(d.relations, width)
        widest = max(self.layout.measure(r.right) for r in relations)
        return widest + max(len(self.reasons(r.reasons)) for r in relations) + MARGIN <= width

    def rows(self, d: Display, beside: bool | None = None) -> tuple[Row, ...]:
        """The lines of a display: each relation on its own, long ones broken; reasons beside or above them."""
        width = self._room(d.left)
        relations = self._fitting(d.relations, width)
        beside = self.fits(d) if beside is None else beside
        words = [self.reasons(r.reasons) for r in relations]
        def written(most: int) -> list[Row]:
            return [row for r, w in zip(relations, words, strict=True) for row in (
                self._blocks(d.left, r.right) if self._by_blocks(r, width) and not self._alone(d.left) else
                self._relation(r, w, beside, width, most))]

        made = written(MOST)
        for enough, most in CUTS:
            if len(made) > enough:
                made = written(most)
        first = made[0]
        if d.goes_on:
            made[0] = replace(first, left=" " * (0 if self._alone(d.left) else self.layout.measure(d.left)))
        elif self._alone(d.left):
            made = [*(Row("", line) for line in self._folded(self.layout.lines(d.left, width), width)), *made]
        elif first.body.startswith((self.symbols.equal, self.symbols.at_most)):
            made[0] = Row(self.print(d.left), first.body, first.note)
        else:
            made.insert(0, Row(self.print(d.left), ""))
        if d.when is not None:
            made = self._conditioned(made, self.form.condition.format(self.times(d.when)), d, width)
        return self._lined_up(made) if self.form.plain else tuple(made)

    def height(self, left: Matrix, r: Relation) -> int:
        """How many lines a row of a chain takes, but for its reasons."""
        return len(self.layout.lines(r.right, self._room(left)))

    def _alone(self, left: Matrix) -> bool:
        """Whether a left side leaves no room beside it, so that it stands above the right ones."""
        return self.form.width - self.layout.measure(left) < NARROW

    def _room(self, left: Matrix) -> int:
        """How wide a right side may be."""
        return self.form.width - (0 if self._alone(left) else self.layout.measure(left))

    def _fitting(self, relations: tuple[Relation, ...], width: int) -> list[Relation]:
        """The rows of a proof without those that no line can hold; their reasons go to the next row."""
        kept: list[Relation] = []
        waiting: tuple[Value, ...] = ()
        for k, r in enumerate(relations):
            reasons = tuple(dict.fromkeys((*waiting, *r.reasons)))
            if r.reasons and k < len(relations) - 1 and self.layout.widest(r.right, width) > width:
                waiting = reasons
            else:
                kept.append(replace(r, reasons=reasons))
                waiting = ()
        return kept

    def _relation(self, r: Relation, words: str, beside: bool, width: int, most: int) -> list[Row]:
        lines = self._shortened(self._folded(self.layout.lines(r.right, width), width), most)
        above = textwrap.wrap(f"[{words}]", width - MARGIN, subsequent_indent=" ") if words and not beside else []
        note = self.form.note.format(f"[{words}]") if words and beside else ""
        sign = self.symbols.at_most if r.at_most else self.symbols.equal
        return [*(Row("", self.form.note.format(line)) for line in above),
                Row("", f"{sign} {lines[0]}", note), *(Row("", self.symbols.quad + x) for x in lines[1:])]

    def _by_blocks(self, r: Relation, width: int) -> bool:
        """Whether the row is a matrix of blocks that no line holds."""
        return isinstance(r.right, Block) and not r.reasons and self.layout.measure(r.right) > width

    def _blocks(self, left: Matrix, right: Block) -> Iterator[Row]:
        """The matrix with its long blocks by their places, then each of these."""
        room = (self.form.width - self.layout.measure(left) - MARGIN) // len(right.rows[0])
        named = {(p, q): cell for p, row in enumerate(right.rows, 1) for q, cell in enumerate(row, 1)
                 if self.layout.measure(cell) > room - MARGIN}
        names = {place: self.symbols.part(self.print(left), *place) for place in named}
        cells = [[names[p, q] if (p, q) in names else self.print(cell) for q, cell in enumerate(row, 1)]
                 for p, row in enumerate(right.rows, 1)]
        wide = max((len(self.ruler.symbols.part(self.ruler(left), *place)) for place in named), default=0)
        wide = max(wide, self.layout.measure(left))
        whole, *further = self._folded([self.symbols.block(cells)], self.form.width - wide)
        yield Row("", f"{self.symbols.equal} {whole}")
        yield from (Row("", self.symbols.quad + line) for line in further)
        for place, cell in named.items():
            width = self.form.width - wide
            first, *rest = self._shortened(self._folded(self.layout.lines(cell, width), width), MOST)
            yield Row(names[place], f"{self.symbols.equal} {first}")
            yield from (Row("", self.symbols.quad + line) for line in rest)

    def _shortened(self, lines: list[str], most: int) -> list[str]:
        """The beginning of a formula that no one would read, and how many lines it goes on."""
        if len(lines) <= most:
            return lines
        more = f"[{self.language.sentences['more_lines'].format(number=len(lines) - BEGINNING)}]"
        return [*lines[:BEGINNING], f"{self.symbols.dots} {self.form.note.format(more).strip()}"]

    def _conditioned(self, rows: list[Row], condition: str, d: Display, width: int) -> list[Row]:
        last = d.relations[-1].right
        if self.layout.measure(last) + len(condition) <= width:
            return [*rows[:-1], Row(rows[-1].left, rows[-1].body + condition, rows[-1].note)]
        return [*rows, Row("", condition)]

    def _folded(self, lines: list[str], width: int) -> list[str]:
        """Lines of plain text that are still too long, folded at spaces."""
        if not self.form.plain:
            return lines
        return [unglued(x) for line in lines for x in textwrap.wrap(
            glued(line, "1["), width, break_long_words=False, break_on_hyphens=False,
            subsequent_indent=self.symbols.quad)]

    def _lined_up(self, rows: list[Row]) -> tuple[Row, ...]:
        left, body = (max(len(cell) for cell in cells) for cells in zip(*((r.left, r.body) for r in rows), strict=True))
        noted = any(r.note for r in rows)
        return tuple(Row(r.left.ljust(left), r.body.ljust(body) if noted else r.body, r.note) for r in rows)

    def reasons(self, values: tuple[Value, ...]) -> str:
        """Why a row follows; equations by bare label, since the row stands in a formula."""
        labels = (v.label for v in values if isinstance(v, Ref))
        numbers = [f"({label})" for label in sorted(labels, key=lambda x: (not x.isdigit(), int(x.lstrip("T"))))]
        laws = [self.value(v) for v in values if not isinstance(v, Ref)]
        key = "reason" if len(numbers) == 1 else "reason_more"
        equations = [self.language.sentences[key].format(equations=self.language.joined(numbers))] if numbers else []
        return ", ".join(equations + laws)

    def part(self, section: Section) -> Part:
        """A section; in plain text the reasons of all its chains stand beside their rows, or all above them."""
        displays = (item for item in section.items if isinstance(item, Display))
        fits = all(self.fits(d) for d in displays if any(r.reasons for r in d.relations))
        items = tuple(PLACED[type(item)](self, item, fits if self.form.plain else None) for item in section.items)
        title = self.language.titles[section.title]
        return Part(title.upper() if self.form.plain else title, items)


COUNTED = ("equations", "losses", "values", "recursion")
"""Places whose number decides between the singular and the plural of a sentence."""

VALUES: dict[type[object], Callable[[Writer, Any], str]] = {
    Formula: lambda w, v: w.math(w.running(v.expression)),
    Equal: lambda w, v: w.math(f"{w.running(v.left)} {w.symbols.equal} {w.running(v.right)}"),
    Expected: lambda w, v: w.math(w.expected(v)),
    Scalar: lambda w, v: w.math(w.running.size(v.expression)),
    Space: lambda w, v: w.math(w.space(v)),
    Run: lambda w, v: w.math(w.run(v)),
    When: lambda w, v: w.math(w.times(v)),
    Before: lambda w, v: w.math(f"{w.print.index(index(t))} < {w.print.index(v.end)}"),
    Steps: lambda w, v: w.math(f"{w.print.index(index(T))} {w.symbols.equal} {v.steps}"),
    AtLeast: lambda w, v: w.math(w.bound(v)),
    Ref: lambda w, v: w.form.ref.format(v.label),
    Span: lambda w, v: w.language.sentences["span"].format(first=w.value(Ref(v.first)), last=w.value(Ref(v.last))),
    Heading: lambda w, v: w.heading(v),
    Count: lambda w, v: w.count(v.number),
    Verbatim: lambda w, v: w.form.escape(v.text),
    Dots: lambda w, _: w.math(w.symbols.dots),
    Phrase: lambda w, v: w.language.phrases[v.table][v.key],
    Several: lambda w, v: w.language.joined([w.value(x) for x in v.values]),
    Sentence: lambda w, v: w.sentence(v),
}
"""A row for every kind of value."""

PLACED: dict[type[object], Callable[[Writer, Any, bool | None], Placed]] = {
    Paragraph: lambda w, v, _: Placed(v.template, text=" ".join(map(w.sentence, v.sentences))),
    Display: lambda w, v, beside: Placed(v.template, rows=w.rows(v, beside), label=v.label),
    Listing: lambda w, v, _: Placed(v.template, points=tuple(map(w.sentence, v.points))),
    Code: lambda w, v, _: Placed(v.template, points=tuple(map(w.form.code, folded(v.lines)))),
}
"""A row for every kind of item."""


def document(d: Derivation, form: Format, lang: str, accepted: Accepted | None = None) -> str:
    """The whole document; with what Coq accepted of the model, that as well.

    Raises:
        ValueError: what Coq accepted is about another model.
    """
    writer = Writer(form, LANGUAGES[lang])
    model = d.model
    title = writer.sentence(say("title", title=Verbatim(model.title or model.name)))
    source = writer.sentence(say("source", source=Verbatim(model.source))) if model.source else ""
    template = environment().get_template(f"{form.name}/document{form.suffix}.jinja")
    text = template.render(stamp=stamp(d, form.name), title=title, source=source,
                           opening=writer.sentence(opening(d)),
                           parts=[writer.part(section) for section in outline(d, accepted)], star="")
    text = unglued(text) if form.plain else text
    return "\n".join(line.rstrip() for line in text.split("\n"))
