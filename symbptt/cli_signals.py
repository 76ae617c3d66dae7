"""How a command ends when it is told to: what it has started ends with it, what it has put up is removed."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

ENDING = [s for s in signal.Signals if s.name in ("SIGTERM", "SIGHUP")]
"""The signals that end a program at once, if it lets them; Ctrl-C does not."""


@contextlib.contextmanager
def tidied() -> Iterator[None]:
    """Within, these signals raise SystemExit, unless someone handles or ignores them already."""
    ours = [s for s in ENDING if signal.getsignal(s) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        ours = []  # Python sets handlers in its main thread alone
    for s in ours:
        signal.signal(s, _end)
    try:
        yield
    finally:
        for s in ours:
            signal.signal(s, signal.SIG_DFL)


def _end(number: int, _frame: FrameType | None) -> None:
    # once: a second signal must not stop the tidying
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)
