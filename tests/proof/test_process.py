"""Coq as a process: what bounds it, what it sees around it, and that nothing is left of it when it is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from symbptt.cli import main
from symbptt.cli_signals import ENDING
from symbptt.proof import checker, process
from symbptt.proof.process import Exceeded, run

linux = pytest.mark.skipif(sys.platform != "linux", reason="no other system bounds another process")
LEMMA = "Theorem a : True.\nProof.\nexact I.\nQed.\n"


def python(code: str, folder: Path, limit: float = 20) -> str:
    """What a piece of Python prints."""
    return run([sys.executable, "-c", code], folder, limit).stdout


@linux
def test_the_limit_is_of_the_processor_and_not_of_the_clock(tmp_path: Path) -> None:
    assert python("import time; time.sleep(2); print('done')", tmp_path, 1) == "done\n"
    with pytest.raises(Exceeded, match="is not done after 1 s"):
        python("while True: pass", tmp_path, 1)


@linux
@pytest.mark.parametrize("where", ["stdout", "stderr"])
def test_what_is_printed_is_bounded(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "WRITTEN", 1 << 20)
    # Python ignores the signal, which a program without a handler of its own is ended by
    code = "import signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n" \
           f"while True: print('x' * 999, file=sys.{where})"
    with pytest.raises(Exceeded, match="writes more than 1 MB"):
        python(code, tmp_path)
    assert len(python("print('x' * 999999)", tmp_path)) == 1000000


@linux
def test_memory_is_bounded_and_reserved_addresses_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MEMORY", 1 << 30)
    takes = """import sys, time
time.sleep(1)
try:
    kept = bytearray(2 << 30)
except MemoryError:
    sys.exit("Error: Out of memory.")"""
    with pytest.raises(Exceeded, match="runs out of memory, of which it may take 1 GB"):
        python(takes, tmp_path)
    reserves = "import mmap, time; time.sleep(1); mmap.mmap(-1, 2 << 30, mmap.MAP_PRIVATE, 0); print('done')"
    assert python(reserves, tmp_path) == "done\n"


@pytest.mark.parametrize("name", ["COQPATH", "COQLIB", "COQBIN", "ROCQPATH", "ROCQLIB", "OCAMLPATH", "OCAMLFIND_CONF",
                                  "XDG_DATA_HOME", "XDG_DATA_DIRS"])
def test_no_variable_leads_to_another_library(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("OF_THE_MACHINE", "kept")
    said = python("import os; print(*map('='.join, os.environ.items()), sep='\\n')", tmp_path).splitlines()
    assert f"{name}={tmp_path}" not in said
    assert "OF_THE_MACHINE=kept" in said
    assert f"PATH={os.environ['PATH']}" in said


def test_a_bound_that_is_reached_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reached(*_: object) -> None:
        raise Exceeded("writes more than 64 MB")

    monkeypatch.setattr(checker, "run", reached)
    monkeypatch.setattr(checker, "coqc", lambda: "coqc")
    with pytest.raises(checker.CheckerError, match=r"coqc --version writes more than 64 MB"):
        checker.version()
    monkeypatch.setattr(checker, "library", lambda: tmp_path)
    monkeypatch.setattr(checker, "version", lambda: "Coq")
    verdict = checker.check(LEMMA)
    assert (verdict.accepted, verdict.reason) == (False, "Coq writes more than 64 MB")


SLEEPS = """#!/bin/sh
if [ "$1" = --version ]; then echo The Coq Proof Assistant, version 0.1; exit; fi
sleep 600 &
sleep 0.5
echo $$ $! > {0}/begun
mv {0}/begun {0}/running
wait
"""


def heeds() -> None:
    """Heed the signals, which whoever runs the tests in the background may have switched off."""
    for sent in (*ENDING, signal.SIGINT):
        signal.signal(sent, signal.SIG_DFL)


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """A command that waits for a compiler which never ends, with the numbers of the compiler and its child."""
    for name in ("bin", "tmp"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin" / "coqc").write_text(SLEEPS.format(tmp_path), encoding="utf-8")
    (tmp_path / "bin" / "coqc").chmod(0o755)
    env = os.environ | {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}", "TMPDIR": str(tmp_path / "tmp"),
                        "SYMBPTT_CACHE": str(tmp_path / "cache")}
    command = subprocess.Popen([sys.executable, "-m", "symbptt", "prove", "linear", "--certificate",
                                str(tmp_path / "linear.v"), "--check"], env=env, stderr=subprocess.DEVNULL,
                               preexec_fn=heeds)
    while not (tmp_path / "running").exists() and command.poll() is None:
        time.sleep(0.05)
    numbers = [int(word) for word in (tmp_path / "running").read_text(encoding="utf-8").split()]
    yield command, numbers
    for number in (command.pid, *numbers):
        if alive(number):
            os.kill(number, signal.SIGKILL)
    command.wait()


def alive(number: int) -> bool:
    """Whether there is a process of this number that runs, and has not ended unasked for."""
    told = subprocess.run(["ps", "-o", "stat=", "-p", str(number)], capture_output=True, text=True).stdout.strip()
    return bool(told) and not told.startswith("Z")


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 1)])
def test_nothing_is_left_of_a_command_that_is_told_to_end(sent: signal.Signals, status: int, tmp_path: Path,
                                                          begun: tuple[subprocess.Popen[bytes], list[int]]) -> None:
    command, numbers = begun
    assert all(map(alive, numbers))
    command.send_signal(sent)
    assert command.wait(60) == status
    for _ in range(200):
        if any(map(alive, numbers)):
            time.sleep(0.05)
    assert not any(map(alive, numbers))
    assert list((tmp_path / "tmp").iterdir()) == []
    assert list((tmp_path / "cache" / "coq").iterdir()) == []


def test_a_command_leaves_the_handlers_as_they_were() -> None:
    before = [signal.getsignal(s) for s in ENDING]
    assert CliRunner().invoke(main, ["models"]).exit_code == 0
    assert [signal.getsignal(s) for s in ENDING] == before
