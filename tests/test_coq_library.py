"""The lemma library by itself: what its tactics prove and refuse, and a certificate written by hand."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from symbptt.proof.checker import coqc, library

DATA = Path(__file__).parent / "data" / "coq"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not on the PATH")
@pytest.mark.parametrize("name", sorted(path.stem for path in DATA.glob("*.v")))
def test_it_proves_what_it_should_and_nothing_else(name: str, tmp_path: Path) -> None:
    text = (DATA / f"{name}.v").read_text(encoding="utf-8")
    assert "Fail " in text or "Print Assumptions" in text
    (tmp_path / f"{name}.v").write_text(text, encoding="utf-8")
    done = subprocess.run([coqc(), "-q", "-w", "none", "-Q", str(library()), "symbptt", f"{name}.v"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
