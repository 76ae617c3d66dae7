"""What the README shows is what the program prints, and its snippets run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner

from symbptt.cli import main
from symbptt.model.functions import FUNCTIONS, LOSSES, VECTOR_FUNCTIONS
from symbptt.model.read import TABLES, InputError, library, loads, source_text
from symbptt.model.spec import Reduce

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
MODELS = (Path(__file__).resolve().parent.parent / "docs" / "models.md").read_text(encoding="utf-8")
ARCHITECTURE = (Path(__file__).resolve().parent.parent / "docs" / "architecture.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return [text for kind, text in re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
            if kind == language]


def test_the_excerpt_is_real_output() -> None:
    printed = " ".join(CliRunner().invoke(main, ["derive", "linear", "--T", "3"]).output.split())
    (excerpt,) = blocks("")
    pieces = [" ".join(piece.split()) for piece in excerpt.split("...")]
    assert len(pieces) == 2
    assert all(piece in printed for piece in pieces)


def test_the_python_snippets_run(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    snippets = blocks("python")
    assert len(snippets) == 2
    for snippet in snippets:
        exec(snippet, names)
    assert (tmp_path / "output" / "linear" / "latex" / "linear.tex").is_file()


def test_the_model_file_goes_through_every_command(tmp_path: Path) -> None:
    (text,) = blocks("toml")
    path = tmp_path / "second.toml"
    path.write_text(text, encoding="utf-8")
    for arguments in (("validate",), ("derive",), ("prove",), ("emit",), ("report", "-o", str(tmp_path))):
        command, *options = arguments
        result = CliRunner().invoke(main, [command, str(path), *options])
        assert result.exit_code == 0, result.output


def test_the_reference_of_model_files_names_what_is_there() -> None:
    (example,) = re.findall(r"^```toml\n(.*?)^```$", MODELS, re.DOTALL | re.MULTILINE)
    read = loads(example)
    assert [term.reduce for term in read.losses] == ["mean", "once"]
    rows = dict(re.findall(r"^\| ([\w-]+) \| ([^|]*)", MODELS.partition("Functions of every entry")[2], re.MULTILINE))
    assert {*FUNCTIONS, "identity"} <= set(rows)
    for table in TABLES:
        assert f"| `[{table}]` |" in MODELS
    for name in (*LOSSES, *VECTOR_FUNCTIONS, *get_args(Reduce)):
        assert name in MODELS
    listed = MODELS.partition("## The library")[2]
    assert {name for row in re.findall(r"^\| ([a-z, -]+) \|", listed, re.MULTILINE) for name in row.split(", ")} == {
        "name", *library()}
    assert all(name in README for name in library())


def test_the_errors_of_the_reference_are_real() -> None:
    for equation, said in (("sigm(b)", "the function sigm is"), ("b * x", "* between b (h × 1)")):
        (line,) = [line for line in MODELS.splitlines() if said in line]
        with pytest.raises(InputError) as caught:
            loads(source_text("elman").replace("b_h", "b").replace("W_hx @ x + W_hh @ h[t-1] + b", equation))
        assert line.endswith(caught.value.message)


def test_the_commands_of_the_tour_exist() -> None:
    for command in re.findall(r"^    symbptt (\w+)", README, re.MULTILINE):
        assert command in main.commands


def test_the_architecture_names_what_exists_and_fits_a_page() -> None:
    root = Path(__file__).resolve().parent.parent
    for name in re.findall(r"`([\w/]+(?:\.py|/))`", ARCHITECTURE):
        assert (root / name).exists() or (root / "symbptt" / name).exists(), name
    assert len(ARCHITECTURE.splitlines()) <= 60
