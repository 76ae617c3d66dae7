r"""The formulas that textbooks and readers write by hand stand in the generated LaTeX.

What may differ is spacing, braces, boldness, the sign for the transpose, the order of a subscript and a superscript,
the place of the factor 1/T, the size of parentheses, and whether prod is written or left out between ∂L/∂u and ∂u/∂v.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from symbptt.derive import derive
from symbptt.model.read import load
from symbptt.render.targets import render

NOTES = Path(__file__).parent.parent / "data" / "notes"

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[^\s\\]")
SILENT = {r"\boldsymbol", r"\mathbf", r"\mathrm", r"\left", r"\right", r"\biggl", r"\biggr", r"\quad", "&"}
SAME = {"∂": r"\partial", "ℓ": r"\ell", r"\intercal": r"\top"}
DISPLAY = re.compile(r"\$\$(.*?)\$\$|\\\[(.*?)\\\]|\\begin\{alignat\*\}\{2\}(.*?)\\end\{alignat\*\}", re.DOTALL)
PROD = re.compile(r"\\text\{prod\}|(?<![\\A-Za-z])prod(?=\s*\()")
PAIR = re.compile(r"frac\[\\partialL\|([^|\]]+\])\]frac\[([^|]+)\|([^|\]]+\])\]")


def normal(formula: str) -> str:
    """The canonical text of a formula."""
    tokens = [SAME.get(x, x) for x in TOKEN.findall(PROD.sub(r"\\chain ", formula))]
    kept = [x for x in tokens if x not in SILENT]
    text, end = sequence(kept, 0)
    assert end == len(kept), f"unbalanced braces: {formula}"
    return PAIR.sub(as_prod, text.rstrip(".,"))


def as_prod(found: re.Match[str]) -> str:
    outer, inner, of = found.groups()
    return rf"\chain(frac[\partialL|{outer}],frac[{inner}|{of}])" if outer == inner else found.group()


def sequence(tokens: list[str], at: int) -> tuple[str, int]:
    """The text up to a closing brace; a subscript stands before a superscript."""
    parts: list[str] = []
    scripts: dict[str, str] = {}
    while at < len(tokens) and tokens[at] != "}":
        if tokens[at] in "_^":
            mark = tokens[at]
            assert mark not in scripts, "two scripts of one kind"
            scripts[mark], at = argument(tokens, at + 1)
        else:
            parts += [f"{mark}[{scripts.pop(mark)}]" for mark in "_^" if mark in scripts]
            text, at = argument(tokens, at)
            parts.append(text)
    parts += [f"{mark}[{scripts[mark]}]" for mark in "_^" if mark in scripts]
    return "".join(parts), at


def argument(tokens: list[str], at: int) -> tuple[str, int]:
    """A group, a fraction or one token."""
    if tokens[at] == "{":
        text, end = sequence(tokens, at + 1)
        return text, end + 1
    if tokens[at] != r"\frac":
        return tokens[at], at + 1
    above, at = argument(tokens, at + 1)
    below, at = argument(tokens, at)
    scalar = re.fullmatch(r"T\\cdot(.+)", below)
    return f"frac[1|T]frac[{above}|{scalar[1]}]" if scalar else f"frac[{above}|{below}]", at


def claims(text: str) -> list[tuple[str, str]]:
    """(left, right) for every link of every displayed chain of equations in a text."""
    return [claim for found in DISPLAY.finditer(text) for claim in chain(next(g for g in found.groups() if g))]


def chain(display: str) -> Iterator[tuple[str, str]]:
    body = re.sub(r"\\(begin|end)\{(aligned|align\*)\}", "", display)
    joined = ""
    for row in re.split(r"\\\\(?!\[)", body):
        cell = re.split(r"\\qquad|\\tag|&&", row)[0]
        if joined and not re.match(r"[\s&]*(=|\\quad)", cell):
            yield from links(joined)
            joined = ""
        joined += cell
    yield from links(joined)


def links(equations: str) -> Iterator[tuple[str, str]]:
    left, *rights = re.split(r"=(?![^{}]*\})", equations)
    return ((normal(left), normal(right)) for right in rights)


@cache
def generated() -> str:
    return render(derive(load("linear"), 3), "latex")


def note(name: str) -> list[tuple[str, str]]:
    return claims((NOTES / f"{name}.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("claim", [*note("recursion"), *note("three_steps")], ids=lambda c: " = ".join(c)[:60])
def test_formulas_of_notes_stand_in_the_document(claim: tuple[str, str]) -> None:
    assert claim in claims(generated())


def test_all_formulas_of_the_notes_are_read() -> None:
    assert len(note("recursion")) == 15
    assert len(note("three_steps")) == 6


LIES = {
    "a transpose is missing": (r"\boldsymbol{W}_{qh}^\top \frac{\partial L}{\partial \boldsymbol{o}_T}",
                               r"\boldsymbol{W}_{qh} \frac{\partial L}{\partial \boldsymbol{o}_T}"),
    "an index is wrong": (r"\partial \boldsymbol{o}_{T+t-i}", r"\partial \boldsymbol{o}_{T-t+i}"),
    "a bound is wrong": (r"\sum_{i=t}^{T} \left(\boldsymbol{W}_{hh}^\top\right)^{T-i}",
                         r"\sum_{i=1}^{T} \left(\boldsymbol{W}_{hh}^\top\right)^{T-i}"),
    "a term is dropped": (r" + \boldsymbol{W}_{qh}^\top \frac{\partial L}{\partial \boldsymbol{o}_t}", ""),
    "a sign is wrong": (r" + \boldsymbol{W}_{qh}^\top \frac{\partial L}{\partial \boldsymbol{o}_t}",
                        r" - \boldsymbol{W}_{qh}^\top \frac{\partial L}{\partial \boldsymbol{o}_t}"),
    "factors change places": (r"\frac{\partial L}{\partial \boldsymbol{h}_t} \boldsymbol{h}_{t-1}^\top",
                              r"\boldsymbol{h}_{t-1}^\top \frac{\partial L}{\partial \boldsymbol{h}_t}"),
    "a scalar factor is lost": (r"\frac{1}{T} \frac{\partial \ell", r"\frac{\partial \ell"),
    "a word is shorter": (r"\boldsymbol{W}_{hh}^\top \boldsymbol{W}_{hh}^\top \boldsymbol{W}_{qh}^\top",
                          r"\boldsymbol{W}_{hh}^\top \boldsymbol{W}_{qh}^\top"),
}


@pytest.mark.parametrize("lie", LIES)
def test_planted_lies_are_found(lie: str) -> None:
    true, false = LIES[lie]
    assert true in generated()
    doctored = claims(generated().replace(true, false))
    assert any(claim not in doctored for claim in (*note("recursion"), *note("three_steps")))


EQUAL = [
    (r"{\left(\boldsymbol{W}_{hh}^\top\right)}^{T-i}", r"(W_{hh}^\intercal)^{T-i}"),
    (r"\sum ^{T}_{t=1} x_t", r"\sum_{t=1}^T x_{t}"),
    (r"\frac{\partial \ell (o_t, y_t)}{T \cdot \partial o_t}", r"\frac{1}{T} \frac{∂ℓ(o_t,y_t)}{∂o_t}"),
    (r"prod (\frac{∂L}{∂o_t}, \frac{∂o_t}{∂h_t})", r"\frac{∂L}{∂o_t}\frac{∂o_t}{∂h_t}"),
    (r"\boldsymbol{W}_{qh} \boldsymbol{h}_{t}.", r"W_{qh}h_t"),
]
DIFFERENT = [
    (r"W_{hh}^\top", r"W_{hh}"), (r"W_{hh}^\top", r"W_{hh}^T"), (r"W_{hh}", r"W_{hx}"), (r"h_{t-1}", r"h_{t+1}"),
    (r"A + B", r"A - B"), (r"A B", r"B A"), (r"(A + B) C", r"A + B C"), (r"\frac{1}{T} x", r"x"),
    (r"\sum_{i=t}^{T} x", r"\sum_{t=i}^{T} x"), (r"A^{i-t}", r"A^{t-i}"), (r"(A^\top)^{i}", r"(A)^{i}"),
    (r"\frac{∂L}{∂o_t}\frac{∂h_t}{∂o_t}", r"\frac{∂L}{∂o_t}\frac{∂o_t}{∂h_t}"),
    (r"\frac{∂L}{∂o_t}\frac{∂o_{t+1}}{∂h_t}", r"prod(\frac{∂L}{∂o_t},\frac{∂o_t}{∂h_t})"),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_manners_of_writing_do_not_count(one: str, other: str) -> None:
    assert normal(one) == normal(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_formulas_stay_different(one: str, other: str) -> None:
    assert normal(one) != normal(other)
