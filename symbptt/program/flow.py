"""Functions without a change in place, and which of their statements anything rests on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from symbptt.program.array import Name
from symbptt.program.statements import Assign, Output, Scan, Statement, names_in


@dataclass(frozen=True)
class Flow:
    """A function: its statements and what it returns; behind them those that only further results need."""

    body: tuple[Statement, ...]
    results: tuple[Output, ...]
    extra: tuple[Statement, ...] = ()
    extra_results: tuple[Output, ...] = ()


def _targets(s: Statement) -> tuple[Name, ...]:
    """What a statement defines."""
    if isinstance(s, Scan):
        return tuple(stack for stack, _ in s.made)
    assert isinstance(s, Assign)
    assert isinstance(s.target, Name)
    return (s.target,)


def needed(body: Iterable[Statement], results: object) -> tuple[Statement, ...]:
    """The statements that the results rest on; of a scan the stacks that something reads."""
    kept: list[Statement] = []
    used = set(names_in(results))
    for s in reversed(tuple(body)):
        if not used.intersection(name.text for name in _targets(s)):
            continue
        if isinstance(s, Scan):
            s = replace(s, made=tuple((stack, step) for stack, step in s.made if stack.text in used))
            s = _without_idle(s)
        kept.append(s)
        used |= names_in(s)
    return tuple(reversed(kept))


def behind(body: Iterable[Statement], results: object) -> tuple[Statement, ...]:
    """The statements that the results rest on, as they are."""
    kept: list[Statement] = []
    used = set(names_in(results))
    for s in reversed(tuple(body)):
        if used.intersection(name.text for name in _targets(s)):
            kept.append(s)
            used |= names_in(s)
    return tuple(reversed(kept))


def _without_idle(s: Scan) -> Scan:
    """A scan without what no later step and no stack needs."""
    used = {step.text for _, step in s.made}
    while True:
        body = [a for a in s.body if isinstance(a.target, Name) and a.target.text in used]
        more = used | {name for a in body for name in names_in(a.value)} | {
            c.following.text for c in s.carried if c.name.text in used}
        if more == used:
            break
        used = more
    return replace(s, body=tuple(body), carried=tuple(c for c in s.carried if c.name.text in used),
                   given=tuple((step, stack) for step, stack in s.given if step.text in used))


