"""Coq as a process within bounds: of time, of memory, of what it writes, and of what it sees around it."""

from __future__ import annotations

import contextlib
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

if sys.platform == "linux":
    import resource

PATIENCE = 4
"""How many times as long as its limit it may take by the clock, where other work holds the processor."""
MEMORY = 8 << 30
"""The most bytes of memory that it may take; an honest certificate takes a tenth of that."""
WRITTEN = 64 << 20
"""The most bytes of what it prints, and of each file that it writes."""
ELSEWHERE = re.compile("COQ|ROCQ|OCAMLPATH$|OCAMLFIND")
"""How the variables begin by which Coq would read other libraries than those that it was installed with."""


class CheckerError(RuntimeError):
    """Coq cannot be run here; the message says what to do."""


class Exceeded(RuntimeError):
    """A process was ended at a bound; the message goes on from its name: is not done after, writes more than."""


def run(command: list[str], folder: Path, limit: float) -> subprocess.CompletedProcess[str]:
    """Run a command in its own process group, which ends with it. One that fails and says nothing is given words.

    Raises:
        CheckerError: it cannot be run.
        Exceeded: it took more seconds than the limit, or more memory, or wrote more, than it may.
    """
    try:
        # to files, on which the system sets a bound, as it does not on pipes
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            status = _status(command, folder, limit, out, err)
            said, complained = _read(out), _read(err)
    except OSError as error:
        raise CheckerError(f"{error.filename or command[0]}: cannot be run: {error.strerror or error}") from None
    if status == -signal.SIGXCPU:
        raise _late(limit)
    if status == -signal.SIGXFSZ:
        raise Exceeded(f"writes more than {WRITTEN >> 20} MB")
    if status and "out of memory" in complained.lower():
        raise Exceeded(f"runs out of memory, of which it may take {MEMORY >> 30} GB")
    if status and not complained.strip():
        end = f"ends with status {status}" if status > 0 else f"is ended by signal {-status}"
        complained = f"{command[0]} says nothing and {end}"
    return subprocess.CompletedProcess(command, status, said, complained)


def _status(command: list[str], folder: Path, limit: float, out: IO[bytes], err: IO[bytes]) -> int:
    """How a command ends; whatever stops the waiting for it, be it a signal, ends it and its children as well."""
    process = subprocess.Popen(command, cwd=folder, env=surroundings(), stdout=out, stderr=err, process_group=0)
    try:
        _bound(process.pid, limit)
        return process.wait(limit * PATIENCE)
    except subprocess.TimeoutExpired:
        raise _late(limit) from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _late(limit: float) -> Exceeded:
    return Exceeded(f"is not done after {limit:g} s")


def _read(file: IO[bytes]) -> str:
    """What was written to a file, up to the bound."""
    file.seek(0)
    return file.read(WRITTEN).decode("utf-8", "replace")


def surroundings() -> dict[str, str]:
    """The environment without what leads Coq to other libraries than its own, those among a user's data included."""
    kept = {name: value for name, value in os.environ.items() if not ELSEWHERE.match(name)}
    return kept | {"XDG_DATA_HOME": os.devnull, "XDG_DATA_DIRS": os.devnull}


def _bound(pid: int, limit: float) -> None:
    """Bound what a process may take, where the system can; by the processor's time, a full machine fails no proof.

    Memory is what it can write to: address space that OCaml reserves and leaves alone costs nothing.
    """
    if sys.platform == "linux":
        seconds = math.ceil(limit)
        bounds = {resource.RLIMIT_CPU: (seconds, seconds + 1), resource.RLIMIT_DATA: (MEMORY, MEMORY),
                  resource.RLIMIT_FSIZE: (WRITTEN, WRITTEN)}
        for what, bound in bounds.items():
            with contextlib.suppress(OSError, ValueError):
                resource.prlimit(pid, what, bound)
