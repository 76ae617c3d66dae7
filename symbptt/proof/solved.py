"""The closed forms that a certificate states: each of them says something, and none is left out.

A closed form is one where its right side does not depend on the adjoints that recur. That both sides are equal is what
Coq proves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from symbptt.proof.declared import Defined, Scope, Text
from symbptt.proof.evaluation import Astray, Evaluation
from symbptt.proof.premises import named
from symbptt.proof.reading import NotRead, Term, read
from symbptt.proof.windows import END, FORM, HERE, TOTAL, Stated, stated, words

NEEDED = ("closed_form", "reversed_form", "forms_agree", FORM)
THEOREM = re.compile(r"Theorem ([\w']+)( uses'*)?( t)? : (?:(\((?:0 < t|1 <= t <= T)\)%N) -> )?(.*)")


def used(e: object, here: Mapping[str, Defined], seen: set[int] | None = None) -> set[str]:
    """The names that a term reads, also through definitions."""
    seen = set() if seen is None else seen
    if not isinstance(e, tuple):
        return set()
    if len(e) == 2 and e[0] == "name":
        d = here.get(e[1])
        if d is None or id(d) in seen:
            return {e[1]}
        seen.add(id(d))
        return {e[1]} | used(d.body, d.before, seen)
    return set().union(*(used(a, here, seen) for a in e))


def recurring(text: Text) -> set[str]:
    """The adjoints that depend on themselves, and those that depend on these."""
    fields = dict(text.records["recursion"])
    reads = {}
    for field, kind in fields.items():
        if field.startswith("rec_"):
            reads[field[4:]] = named(read(kind.rpartition("%N -> ")[2])[3])
    reach = {a: reads[a] & set(reads) for a in reads}
    for _ in reads:
        reach = {a: set().union(reach[a], *(reach[b] for b in reach[a])) for a in reads}
    loops = {a for a in reads if a in reach[a]}
    return loops | {a for a in reads if reach[a] & loops}


def solved(text: Text) -> dict[str, Stated]:
    """Compare the closed forms with the recursion that they solve; return the truncations, which say more.

    Raises:
        Astray: one says nothing, or is left out.
    """
    if "Closed" not in text.sections:
        return {}
    here, never = text.sections["Closed"], recurring(text)
    found, split, closed = dict[str, Term](), list[tuple[str, str, Term]](), dict[str, Term]()
    rights = dict[str, Term]()
    for name, uses, timed, equation in theorems(text):
        left, right = equation[2:]
        plain = name.rstrip("'")
        if plain in found:
            raise Astray(f"the theorem {name} stands there twice")
        found[plain], rights[plain] = left, right
        if plain == "closed_form":
            closed[FORM] = right
        if uses:
            split.append((name, uses, equation))
        sides = (left, right) if plain == "forms_agree" else (right,)
        # a gradient of an initial state stands in truncations as a whole
        known = {n: d for n, d in here.items() if not n.startswith("dL_d")} if uses else here
        recurs = sorted(set().union(*(used(side, known) for side in sides)) & {*never, str(left[1])})
        if recurs or left == right:
            both = ", ".join(recurs) or "the same"
            raise Astray(f"the theorem {name} is no closed form: {both} stands on both sides")
        head = left[1] if left[0] == "apply" else left
        if (left[0] == "apply") != timed or (timed and left[2] != (("name", "t"),)):
            head = ("other",)
        _left_side(plain, name, head, here, never)
    gradients = {n[4:] for n in here if n.startswith("dL_d") and used(("name", n), here) & never}
    missing = [n for n in NEEDED if n not in found]
    missing += [f"sum_{n}" for n in sorted(gradients) if f"sum_{n}".rstrip("'") not in found]
    if missing:
        raise Astray(f"there is no theorem {missing[0]}")
    if not all("T" in named(body) for _, body in words(rights["reversed_form"], HERE, END)):
        raise Astray("the theorem reversed_form does not run from the other end")
    if not found["closed_form"] == found["reversed_form"] == found[FORM]:
        raise Astray("the closed forms are about different things")
    if (found["forms_agree"], rights["forms_agree"]) != (rights["closed_form"], rights["reversed_form"]):
        raise Astray("the theorem forms_agree is not about the two closed forms")
    return {name.rstrip("'"): stated(name, uses, equation, closed.get(name.rstrip("'")))
            for name, uses, equation in split}



def holds(text: Text, run: Evaluation, steps: int) -> None:
    """Evaluate both sides of every closed form, and see that the reversed one runs from the other end.

    Raises:
        Astray: they are worth different things, or what is called reversed is not.
    """
    if "Closed" not in text.sections:
        return
    rights, scope = dict[str, Term](), Scope(text.sections["Closed"])
    for name, uses, timed, equation in theorems(text):
        left, right = equation[2:]
        rights[name.rstrip("'")] = right
        if uses:
            continue  # whose halves are compared with the engine's
        for time in range(1, steps + 1) if timed else [0]:
            here = scope.inner("t", time) if timed else scope
            if run(left, here) != run(right, here):
                raise Astray(f"the sides of the theorem {name} differ (T = {steps}, t = {time})")
    forward, back = (words(rights[name], HERE, END) for name in ("closed_form", "reversed_form"))
    mirrored = bool(forward) and len(forward) == len(back)
    for (i, body), (j, other) in zip(forward, back, strict=False):
        for time in range(1, steps + 1):
            here = scope.inner("t", time)
            mirrored &= all(run(body, here.inner(i, k)) == run(other, here.inner(j, steps + time - k))
                            for k in range(time, steps + 1))
    if not mirrored:
        raise Astray("the theorem reversed_form does not run from the other end")


def _left_side(plain: str, name: str, head: Term, here: Mapping[str, Defined], never: set[str]) -> None:
    if plain == "forms_agree":
        return
    called = str(head[1]) if head[:1] == ("name",) else ""
    about = next((plain.removeprefix(kind) for kind in ("sum_", TOTAL) if plain.startswith(kind)), None)
    good = called.startswith("dL_d") and called.removeprefix("dL_d").rstrip("'") == about \
        if about is not None else bool(used(head, here) & never)
    if not good:
        raise Astray(f"the theorem {name} is about something else: {called or head}")


def theorems(text: Text) -> Iterator[tuple[str, str, bool, Term]]:
    """(name, its number of uses, whether it is about a time, equation) of every theorem of the section."""
    for trail, s in text.statement:
        if trail[-1:] == ("Closed",) and s.words[0] == "Theorem":
            match = THEOREM.fullmatch(s.text)
            try:
                equation = read(match[5]) if match else ()
            except NotRead as error:
                raise Astray(f"line {s.line}: the theorem {s.words[1]} cannot be read: {error}") from error
            if match is None or equation[:2] != ("binary", "=") or bool(match[3]) != bool(match[4]):
                raise Astray(f"line {s.line}: the theorem {s.words[1]} is no equation")
            yield match[1], (match[2] or "").strip(), bool(match[3]), equation
