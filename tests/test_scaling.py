"""What docs/scaling.md shows is run as it stands there: its files, its commands."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", DOCUMENT, re.DOTALL | re.MULTILINE)


@pytest.fixture
def shown(tmp_path: Path):
    """Runs the commands of one library in a folder with the files of the document."""
    if not os.environ.get("SYMBPTT_CI"):
        pytest.importorskip("torch")
        pytest.importorskip("jax")
    for text in blocks("python"):
        name, = re.findall(r"\A# (\w+\.py)\n", text)
        (tmp_path / name).write_text(text, encoding="utf-8")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, command in (("python", sys.executable), ("symbptt", f"{sys.executable} -m symbptt")):
        path = tools / name
        path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run(library: str) -> str:
        commands, = (text for text in blocks("sh") if f"--target {library} " in text)
        env = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT),
               "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(["sh", "-e", "-c", commands], cwd=tmp_path, env=env, capture_output=True, text=True,
                              timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.slow
def test_jax_on_eight_devices_gives_the_gradients_of_one(shown) -> None:
    said = shown("jax")
    assert "8 devices; dL/dx in parts of {(12, 4, 5)}; dL/dW_i whole: True" in said
    assert "sums over devices: 1; data sent: 0" in said
    assert "the gradients are those of one device" in said


@pytest.mark.slow
def test_torch_in_two_processes_gives_the_gradients_of_one(shown) -> None:
    said = shown("torch")
    assert "2 processes with 16 of 32 samples each" in said
    assert "the gradients are those of one process" in said


def test_the_document_is_found_from_where_a_reader_begins() -> None:
    for path in (ROOT / "README.md", ROOT / "docs" / "programs.md"):
        assert "scaling.md" in path.read_text(encoding="utf-8")
    assert len(blocks("python")) == len(blocks("sh")) == 2
    for text in (*blocks("python"), *blocks("sh")):
        assert all(len(line) <= 120 for line in text.splitlines())
