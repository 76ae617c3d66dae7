"""Where everything is installed, a skipped test is a failure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LIES = """
import pytest

def test_of_a_tool():
    pytest.skip("thetool is not installed")

@pytest.mark.skipif(True, reason="the tool is not on the PATH")
def test_of_another():
    pass

def test_of_a_package():
    pytest.importorskip("no_such_package")

def test_of_a_model():
    pytest.skip("nothing recurs")
"""


@pytest.mark.parametrize(("everything", "ends"), [("1", "2 failed, 1 skipped, 1 error"), ("", "4 skipped")])
def test_a_missing_tool_is_a_failure(everything: str, ends: str, tmp_path: Path) -> None:
    (tmp_path / "test_lies.py").write_text(LIES, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(Path(__file__).with_name("conftest.py").read_text(encoding="utf-8").replace(
        "Path(__file__).parents[1]", f"Path({str(Path(__file__).parents[1])!r})"), encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
                          capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "SYMBPTT_CI": everything})
    print(done.stdout)
    assert ends in done.stdout
