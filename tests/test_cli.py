"""The command line: what it prints, where errors go and how it ends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from jinja2 import TemplateNotFound

import symbptt
from symbptt import cli
from symbptt.cli import main
from symbptt.model import read
from symbptt.model.read import library, load, source_text
from symbptt.proof import prover, script
from symbptt.render import targets

MODELS = Path(__file__).resolve().parent / "data" / "models"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.fixture
def changed(tmp_path: Path):  # type: ignore[no-untyped-def]
    """A function that writes linear.toml with a text replaced, and gives its path."""

    def write(old: str, new: str) -> str:
        text = source_text("linear")
        assert old in text
        path = tmp_path / "mine.toml"
        path.write_text(text.replace(old, new), encoding="utf-8")
        return str(path)

    return write


def test_models_lists_and_shows() -> None:
    listed = run("models")
    assert listed.exit_code == 0
    assert "linear" in listed.output
    assert "h[t] = W_hx @ x[t] + W_hh @ h[t-1]" in listed.output
    assert run("models", "--show", "linear").output == source_text("linear")
    read = json.loads(run("models", "--json").output)
    assert [m["name"] for m in read] == library()
    assert all(m["title"] and m["source"] and m["equations"] and m["losses"] for m in read)
    for m in read:
        assert f"{m['name']}: {m['title']}" in listed.output
        assert all(f"[t] = {right}\n" in listed.output for right in m["equations"].values())
        assert run("models", "--show", m["name"]).output == source_text(m["name"])


def test_names_with_a_hyphen(tmp_path: Path) -> None:
    read = {m["name"]: m for m in json.loads(run("models", "--json").output)}
    assert read["elman-softmax"]["losses"] == [
        {"term": "softmax_cross_entropy(o[t], y[t])", "weight": "1", "reduce": "sum", "mask": None,
         "assume": ["sum(y) == 1"]}]
    for command in ("validate", "derive", "prove"):
        assert run(command, "elman-softmax").exit_code == 0
    assert run("report", "linear-bias", "-o", str(tmp_path)).exit_code == 0
    assert (tmp_path / "linear-bias" / "latex" / "linear-bias.tex").is_file()
    wrong = run("models", "--show", "elman_softmax")
    assert wrong.exit_code == 2
    assert "did you mean elman-softmax?" in wrong.stderr


@pytest.mark.parametrize(("name", "said"), [
    ("regularised", "the mean over t of l(o[t], y[t]), plus lambda_/2*squared_norm(W_hh), plus 1/10*squared_norm(b_h)"),
    ("masked_sum", "the sum over the t with m[t] = 1 of l(h[t], y[t]), plus the mean over the t with n[t] = 1 of 1/2*"),
    ("last_loss", "l(o[t], y[t]) at t = T"), ("static_context", "2 equations"), ("computed_start", "6 parameters"),
    ("two_starts", "two-starts is well formed"), ("packed_lstm", "sum over t of squared_error(h[t], y[t])"),
])
def test_validate_knows_every_table(name: str, said: str) -> None:
    result = run("validate", str(MODELS / f"{name}.toml"))
    assert result.exit_code == 0
    assert said in result.output


def test_a_computed_start_is_listed() -> None:
    described = cli.described(load(MODELS / "two_starts.toml"))
    assert described["initial"] == {"h[0]": "V @ tanh(b)", "h[-1]": "1/2*b"} or described["initial"] == {
        "h[0]": "V @ tanh(b)", "h[-1]": "(1/2)*b"}


def test_version_and_help() -> None:
    assert run("--version").exit_code == 0
    for command in ("models", "derive", "prove", "replay", "emit", "report", "validate"):
        assert run(command, "--help").exit_code == 0


@pytest.mark.parametrize("target", ["text", "latex", "markdown"])
def test_derive_prints_a_document(target: str) -> None:
    result = run("derive", "linear", "--T", "3", "--format", target)
    assert result.exit_code == 0
    assert len(result.output.splitlines()) > 40


def test_derive_as_json() -> None:
    lines = json.loads(run("derive", "linear", "--json").output)
    assert [x["number"] for x in lines] == list(range(1, len(lines) + 1))


def test_prove_prints_theorems() -> None:
    result = run("prove", "linear", "--T", "3")
    assert result.exit_code == 0
    assert "Σ" in result.output
    found = json.loads(run("prove", "linear", "--json").output)
    assert all(q["steps"] > 0 for q in found)


@pytest.mark.parametrize("target", ["text", "latex", "markdown", "json"])
def test_prove_prints_proofs(target: str, tmp_path: Path) -> None:
    path = tmp_path / "proofs" / "linear"
    written = run("prove", "linear", "--format", target, "-o", str(path))
    assert (written.exit_code, written.output) == (0, "")
    text = path.read_text(encoding="utf-8")
    assert run("prove", "linear", "--format", target).output == text
    assert ("hypothesis" in text) == (target != "json")


def test_prove_has_a_short_form() -> None:
    brief = run("prove", "linear", "--T", "2", "--brief").output
    assert brief.startswith("For every T:\n\nGiven\n")
    assert "For T = 2, every t:" in brief
    assert "induction" not in brief
    whole = run("prove", "linear", "--T", "2").output
    assert whole.startswith("# Generated by symbptt")
    assert "Proved\n" not in whole
    assert "induction" in whole


def test_replay_prints_what_the_kernel_proves(tmp_path: Path) -> None:
    """The same definitions and theorems as `prove`, from the file alone; what the model assumes is not in it."""
    path = str(tmp_path / "linear.json")
    assert run("prove", "linear", "--T", "2", "--format", "json", "-o", path).exit_code == 0
    result = run("replay", path)
    assert result.exit_code == 0
    brief = [line for line in run("prove", "linear", "--T", "2", "--brief").output.splitlines() if line]
    place = brief.index("What is assumed of the functions and losses")
    assert "is differentiable" in brief[place + 1]
    del brief[place:place + 2]
    assert [line for line in result.output.partition("Laws")[0].splitlines() if line] == [
        line for line in brief if not line.startswith("For ")]
    assert "Concrete Mathematics" in result.output
    groups = json.loads(run("replay", path, "--format", "json").output)
    rows = json.loads(run("prove", "linear", "--T", "2", "--json").output)
    assert [q for group in groups for q in group["theorems"]] == [
        {k: v for k, v in q.items() if k not in ("for", "derivatives")} for q in rows]
    assert {d["hi"] for d in groups[1]["definitions"]} >= {"2"}
    assert [q.theorem for q in symbptt.replay(path)] == [q.theorem for q in symbptt.replay(Path(path))]
    d = symbptt.derive("linear", T=2)
    assert [q.theorem for q in symbptt.replay(d.proof_json())] == [q.theorem for q in d.theorems]
    assert "induction" in d.proof_text()


def test_replay_of_a_summary_names_the_form_that_replays(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    path.write_text(run("prove", "linear", "--json").output, encoding="utf-8")
    result = run("replay", str(path))
    assert result.exit_code == 2
    assert "written by --format json, while --json writes a summary" in result.stderr


@pytest.mark.parametrize(("content", "words"), [
    (b"", "the file is empty"), (b" \n", "the file is empty"), (b"hello.", "it states no theorem"),
    (b"Theorem a.\n\0", "line 2: the character U+0000"), (b"\xff", "this is no UTF-8 text")])
def test_what_is_no_certificate_ends_with_2(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "file.v"
    path.write_bytes(content)
    result = run("certificate", str(path))
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr


def test_a_doctored_file_is_refused_in_words(tmp_path: Path) -> None:
    """No message speaks of Python's own functions and classes."""
    whole = run("prove", "linear", "--format", "json").output
    path = tmp_path / "file.json"

    def told(change: Callable[[Any], object]) -> tuple[int, str]:
        doctored = json.loads(whole)
        change(doctored)
        path.write_text(json.dumps(doctored), encoding="utf-8")
        result = run("replay", str(path))
        return result.exit_code, result.stderr

    unfit = "step 0 (assumption): these are not the premises and arguments that the rule takes"
    for args in ([], [{"int": 1}, {"int": 2}]):
        code, said = told(lambda file, args=args: file["theorems"][0]["steps"][0].update(args=args))
        assert code == 1
        assert unfit in said
    code, said = told(lambda file: file["nodes"].__setitem__(3, ["Plus"]))
    assert code == 2
    assert "nodes[3]: no Plus can be made of this: it takes operands of another kind or number" in said


def test_every_place_counts_the_same_theorems(tmp_path: Path) -> None:
    for name in ("linear", "second-order"):
        rows = json.loads(run("prove", name, "--json").output)
        counted = f"{len(rows)} theorems"
        assert f"{counted} proved" in run("prove", name, "--brief").output
        assert f"{counted} proved" in run("report", name, "-o", str(tmp_path)).output
        assert f"{counted} followed" in " ".join(run("prove", name).output.split())
        d = symbptt.derive(name)
        assert len(d.theorems) == len(rows) == sum(line.theorem is not None for line in d.steps)


def test_many_steps_are_written_out_by_prove_and_elsewhere_it_is_said(tmp_path: Path) -> None:
    rows = json.loads(run("prove", "linear", "--T", "13", "--json").output)
    assert [(q["for"], q["equations"]) for q in rows if q["theorem"] == "written"] == [("T = 13, every t", 13)]
    assert "1 theorem of 13 equations proved" in run("prove", "linear", "--T", "13", "--brief").output
    whole = " ".join(run("prove", "linear", "--T", "13").output.split())
    assert "for T = 13, the closed form is written out, all 13 equations, one for each t, in one theorem" in whole
    command = "symbptt prove linear --T 13"
    assert command in run("report", "linear", "--T", "13", "-o", str(tmp_path)).output
    assert command in " ".join(run("derive", "linear", "--T", "13").output.split())
    assert "symbptt prove" not in run("report", "linear", "--T", "12", "-o", str(tmp_path)).output


def test_replay_derives_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "linear.json")
    run("prove", "linear", "--format", "json", "-o", path)

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("something was derived")

    stages = sys.modules["symbptt.derive"]
    for place, name in ((stages, "prove"), (stages, "template"), (stages, "sweep"), (prover.Prover, "__init__"),
                        (script.Script, "__init__"), (read, "load"), (stages, "solve")):
        monkeypatch.setattr(place, name, forbidden)
    assert run("replay", path).exit_code == 0
    assert isinstance(run("prove", "linear").exception, AssertionError)


def test_replay_says_no_with_1_and_names_the_step(tmp_path: Path) -> None:
    path = tmp_path / "linear.json"
    text = run("prove", "linear", "--format", "json").output
    path.write_text(text.replace('"args":["sum_first"', '"args":["sum_none"', 1), encoding="utf-8")
    result = run("replay", str(path))
    assert result.exit_code == 1
    assert result.stdout == ""
    assert re.search(r"linear.json: not proved: theorems\[0\] \(closed\): step \d+ \(axiom\): there is no axiom "
                     "sum_none", result.stderr)


@pytest.mark.parametrize(("content", "words"), [
    (b"", "file.json: the file is empty"), (b'{"a":\n  1,,}', "file.json:2:5: this is no JSON"),
    (b'{"format":\n"\xff"}', "file.json:2:2: this is no UTF-8 text"), (b"[]", "file.json: a list is no object"),
    (b"[" * 100_000, "file.json: the text holds too many brackets"), (b"\x00\x01" * 500_000, "1:1: this is no JSON"),
    (b'{"format": "symbptt-proof", "version": 1, "model": "m", "nodes": [["Symbol", "\\u001b", "size"]], '
     b'"definitions": [], "theorems": []}', "file.json: nodes[0][1]: '\\x1b' is no text"),
])
def test_replay_of_what_is_no_record_ends_with_2(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    result = run("replay", str(path))
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1


def test_replay_of_what_cannot_be_read_or_written(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.json"):
        result = run("replay", str(path))
        assert result.exit_code == 2
        assert "cannot be read" in result.stderr
    odd = tmp_path / "odd.json"
    odd.write_text('{"format": "symbptt-proof", "version": 1, "model": "m", "nodes": [["Integer", 1], ["MatrixSymbol", '
                   '"a", 0, 0], ["Apply", 0, 1]], "definitions": [], "theorems": [{"key": "k", "hypotheses": [], '
                   '"assumptions": [], "left": 2, "right": 2, "used": [], "definitions": [], "steps": [{"rule": '
                   '"reflexivity", "premises": [], "args": [2]}]}]}', encoding="utf-8")
    result = run("replay", str(odd))
    assert result.exit_code == 2
    assert "nodes[2]: no Apply can be made of this" in result.stderr
    odd.write_text('{"format": "symbptt-proof", "version": 1, "model": "m", "nodes": [], "definitions": [], '
                   '"theorems": []}', encoding="utf-8")
    assert "holds no theorem" in run("replay", str(odd)).output


def test_emit_writes_a_module(tmp_path: Path) -> None:
    path = tmp_path / "code" / "linear.py"
    assert run("emit", "linear", "--target", "numpy", "-o", str(path)).exit_code == 0
    assert run("emit", "linear").output == path.read_text(encoding="utf-8")
    assert subprocess.run([sys.executable, str(path)], check=False, capture_output=True).returncode == 0


def test_emit_follows_its_options(tmp_path: Path) -> None:
    path = tmp_path / "lstm.py"
    options = ("--layout", "BTD", "--weights", "right", "--dtype", "float32", "--fused", "i,f,g,o", "--mask", "m",
               "--truncate", "3")
    for target in ("numpy", "numpy-textbook"):
        result = run("emit", "lstm", "--target", target, *options, "-o", str(path))
        assert result.exit_code == 0, result.stderr
        text = path.read_text(encoding="utf-8")
        assert f"target {target} with {' '.join(options)}. Edit" in " ".join(text.split())
        assert subprocess.run([sys.executable, str(path)], check=False, capture_output=True).returncode == 0
    assert run("emit", "linear", "--schedule", "loop").output.count('SCHEDULE = "loop"') == 2
    assert "--mask mask. Edit" in " ".join(run("emit", "linear", "--mask").output.split())
    assert run("emit", "gru", "--fused").output == run("emit", "gru", "--fused", "").output
    assert run("emit", "--mask", "linear").output == run("emit", "linear", "--mask").output
    assert run("emit", "--fused", "gru", "--dtype", "float32", "--mask").output == \
        run("emit", "gru", "--fused", "--dtype", "float32", "--mask").output
    assert run("emit", "--mask", "m", "linear").output == run("emit", "linear", "--mask", "m").output
    assert run("emit", "linear", "--layout", "TBD", "--weights", "left", "--schedule", "auto").output == \
        run("emit", "linear").output


@pytest.mark.parametrize(("arguments", "words"), [
    ((), "Missing argument 'MODEL'."),
    (("--mask", "m"), "Missing argument 'MODEL'; --mask has taken m for its value: put MODEL first."),
    (("--mask", "gru", "--fused", "lstm"), "--mask has taken gru for its value: put MODEL first."),
])
def test_a_model_that_is_missing_is_asked_for(arguments: tuple[str, ...], words: str) -> None:
    result = run("emit", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr


@pytest.mark.parametrize(("arguments", "words"), [
    (("--layout", "DBT"), "'DBT' is not one of 'TBD', 'BTD'"),
    (("--weights", "up"), "'up' is not one of 'left', 'right'"),
    (("--dtype", "int"), "'int' is not one of 'float32', 'float64'"),
    (("--schedule", "fast"), "'fast' is not one of 'auto', 'loop', 'chunked'"),
    (("--fused",), "elman: --fused: no two equations of elman multiply one operand"),
    (("--fused", "a,b"), "--fused: no two equations of elman"),
    (("--schedule", "chunked"), "elman: --schedule chunked: no recurrence of elman has the form v[t] = sum"),
    (("--schedule", "loop", "--target", "numpy-textbook"), "--schedule is not for the target numpy-textbook"),
    (("--mask", "x"), "elman: --mask x: the mask cannot be called x: the model has a x already"),
    (("--mask", "1"), "--mask 1: '1' is not a name"),
    (("--truncate", "0"), "must be an integer ≥ 1, not '0'"),
    (("--truncate", "two"), "must be an integer ≥ 1, not 'two'"),
])
def test_options_that_cannot_be_followed_end_with_2(arguments: tuple[str, ...], words: str) -> None:
    result = run("emit", "elman", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "Traceback" not in result.output + result.stderr
    assert not result.stdout


def test_report_writes_into_a_folder_of_the_model(tmp_path: Path) -> None:
    result = run("report", "linear", "--T", "3", "-o", str(tmp_path))
    assert result.exit_code == 0
    assert (tmp_path / "linear" / "latex" / "linear.tex").is_file()
    assert "theorems proved" in result.output


def test_a_changed_sign_reaches_every_output(changed) -> None:  # type: ignore[no-untyped-def]
    path = changed("+ W_hh @ h[t-1]", "- W_hh @ h[t-1]")
    for arguments in (("derive",), ("derive", "--format", "latex"), ("derive", "--format", "markdown"), ("prove",),
                      ("emit",)):
        command, *options = arguments
        assert run(command, path, *options).output != run(command, "linear", *options).output


WRONG = {
    "unknown name": ("W_hh @ h[t-1]", "W_hq @ h[t-1]", "W_hq"),
    "shape clash": ("W_hx @ x", "W_hh @ x", "(h × h)"),
    "undeclared lag": ("W_qh @ h", "W_qh @ h + o[t-1]", "[states]"),
    "name in two tables": ('x = "d"', 'x = "d"\nW_hh = "d"', "W_hh"),
    "own value at t": ("h[t-1]", "h", "own value"),
    "bad toml": ("[sizes]", "[sizes", "mine.toml:"),
    "look ahead": ("h[t-1]", "h[t+1]", "t+1"),
    "unknown function": ("W_hh @ h[t-1]", "W_hh @ sigm(h[t-1])", "did you mean sigmoid?"),
    "arity": ("W_hh @ h[t-1]", "W_hh @ tanh(h[t-1], x)", "tanh takes 1 argument, not 2"),
    "rows": ("W_hh @ h[t-1]", "W_hh[0:d] @ h[t-1]", "reach beyond W_hh"),
    "start": ("[equations]", '[initial]\nx = "x"\n[equations]', "x names no value before the first step"),
    "regulariser": ('"l(o, y)"', '"squared_norm(W_hh)"', 'write reduce = "once"'),
    "mask": ('reduce = "mean"', 'reduce = "mean"\nmask = "x"', "x is not declared under [targets]"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_models_end_with_2_and_name_the_place(kind: str, changed) -> None:  # type: ignore[no-untyped-def]
    old, new, expected = WRONG[kind]
    path = changed(old, new)
    for command in ("derive", "prove", "emit", "report", "validate"):
        result = run(command, path)
        assert result.exit_code == 2
        assert expected in result.stderr
        assert result.stderr.startswith(path + ":")
        line, column = result.stderr[len(path) + 1:].split(":")[:2]
        assert int(line) >= 1
        assert int(column) >= 1
        assert "Traceback" not in result.output


@pytest.mark.parametrize(("steps", "words"), [("0", "≥ 1"), ("-1", "≥ 1"), ("three", "integer"),
                                              ("1000000", "GB")])
def test_wrong_numbers_of_steps(steps: str, words: str) -> None:
    for command in ("derive", "prove", "report"):
        result = run(command, "linear", "--T", steps)
        assert result.exit_code == 2
        assert (words if command != "prove" or words != "GB" else "words") in result.stderr


def test_an_unknown_model_names_the_known_ones() -> None:
    result = run("derive", "lineer")
    assert result.exit_code == 2
    assert "linear" in result.stderr


def test_an_unwritable_folder(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way", encoding="utf-8")
    for arguments in (("report", "linear", "-o", str(blocked)), ("emit", "linear", "-o", str(blocked / "x.py")),
                      ("derive", "linear", "-o", str(blocked / "x.txt"))):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "cannot be written" in result.stderr
    assert blocked.read_text(encoding="utf-8") == "in the way"


def test_equal_bytes_under_different_hash_seeds() -> None:
    script = "import sys\nfrom symbptt.cli import main\nfor a in sys.argv[1:]: main(a.split(), standalone_mode=False)"
    commands = ["derive linear --T 3 --format latex", "prove linear --json", "prove jordan --T 2 --format json",
                "prove jordan --T 2 --format markdown", "emit linear"]
    outputs = {subprocess.run([sys.executable, "-c", script, *commands], check=True, capture_output=True,
                              env={**os.environ, "PYTHONHASHSEED": seed}).stdout for seed in ("1", "2")}
    assert len(outputs) == 1
    assert len(outputs.pop()) > 100_000


def test_long_lags_say_what_they_would_cost(changed) -> None:  # type: ignore[no-untyped-def]
    path = changed("h[t-1]", "h[t-60]")
    for command in ("derive", "prove", "emit", "report"):
        result = run(command, path)
        assert result.exit_code == 2
        assert "60 × 60" in result.stderr


def test_a_link_is_followed_and_a_device_is_written_as_it_stands(tmp_path: Path) -> None:
    target, link = tmp_path / "target.md", tmp_path / "link.md"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o600)
    link.symlink_to(target)
    assert run("derive", "linear", "-o", str(link)).exit_code == 0
    assert link.is_symlink()
    assert "∂L" in target.read_text(encoding="utf-8")
    assert target.stat().st_mode & 0o777 == 0o600
    assert run("derive", "linear", "-o", os.devnull).exit_code == 0
    assert not Path(os.devnull).is_file()


def test_a_report_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "linear" / "markdown" / "linear.md").mkdir(parents=True)
    result = run("report", "linear", "-o", str(tmp_path))
    assert result.exit_code == 2
    assert "linear.md: cannot be written" in result.stderr
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_standard_output_ends_with_2() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "symbptt", "models"], check=False, stdout=full,
                              stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "standard output cannot be written" in done.stderr


def test_a_dash_is_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (("derive", "linear"), ("derive", "linear", "--json"), ("emit", "linear")):
        assert run(*arguments, "-o", "-").output == run(*arguments).output
    assert not list(tmp_path.iterdir())
    assert run("derive", "linear", "-o", "./-").exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["-"]


@pytest.mark.parametrize(("arguments", "words"), [
    (("derive", "linear", "--T", "9" * 20), "999999999999999999… is too large a number"),
    (("prove", "linear", "--T", "9" * 5000), "is too large a number"),
    (("derive", "linear", "--truncate", "9" * 20), "is too large a number"),
    (("derive", "linear", "--T", "-" + "9" * 20), "must be ≥ 1"),
    (("derive", "linear", "--T", "2.5"), "must be an integer ≥ 1"),
    (("derive", ""), "an empty text names no model; built-in: elman"),
    (("validate", ""), "an empty text names no model"),
    (("derive", "linear", "-o", ""), "name a file, or leave -o out"),
    (("emit", "linear", "-o", ""), "name a file, or leave -o out"),
    (("report", "linear", "-o", ""), "name a folder"),
    (("report", "linear", "-o", "-"), "name a folder, not '-'"),
    (("derive", "linear", "--json", "--format", "latex"), "leave --format out, or --json"),
    (("prove", "linear", "--json", "--format", "latex"), "short forms of their own"),
    (("prove", "linear", "--brief", "--format", "text"), "short forms of their own"),
    (("prove", "linear", "--brief", "--json"), "short forms of their own"),
    (("prove", "linear", "-o", ""), "name a file, or leave -o out"),
    (("derive", "linear", "--format", "text", "--json"), "leave --format out, or --json"),
])
def test_what_the_command_line_says_would_be_right(arguments: tuple[str, ...], words: str) -> None:
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert words in refused.output


@pytest.mark.parametrize("command", ["derive", "report"])
def test_a_missing_template_is_no_unwritable_output(command: str, tmp_path: Path,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise TemplateNotFound("text/document.jinja")

    monkeypatch.setattr(targets, "render", missing)
    monkeypatch.setattr(targets, "save", missing)
    out = run(command, "linear", "-o", str(tmp_path / "out"))
    assert isinstance(out.exception, TemplateNotFound)
    assert "written" not in out.output


def test_validate_mentions_what_nothing_reads(changed) -> None:  # type: ignore[no-untyped-def]
    path = changed('W_hh = "h, h"', 'W_hh = "h, h"\nZ = "q"\nA = "h, d"')
    told = run("validate", path)
    assert told.exit_code == 0
    assert "nothing reads Z, A\n" in told.output
    assert "nothing reads" not in run("validate", "linear").output


def test_a_theorem_under_an_assumption_says_so() -> None:
    assert "if 1⊤ yₜ = 1" in run("prove", "elman-softmax", "--brief").output
    told = json.loads(run("prove", "elman-softmax", "--json").output)
    assert any(row["assumptions"] == ["(1).T @ y[t] = I"] for row in told)
    told = json.loads(run("prove", "elman", "--json").output)
    assert [row["theorem"] for row in told if row["assumptions"]] == ["directions"]
    assert "if μ = 1" in run("prove", "gru", "--truncate", "4", "--brief").output


def test_a_theorem_about_derivatives_says_which_it_assumes() -> None:
    told = {row["theorem"]: row.get("derivatives") for row in json.loads(run("prove", "irnn", "--json").output)}
    relu = {"of": "relu(z)", "derivative": "step(relu(z))", "undefined_at": [0], "convention": "0"}
    assert [{k: v for k, v in row.items() if k != "source"} for row in told["forward"]] == [relu]
    assert told["pairing"] == told["directions"] == [
        *told["forward"], {"of": "l(o[t], y[t])", "gradients": ["dl(o[t], y[t])/do[t]"]}]
    assert {key for key, rows in told.items() if rows is not None} == {"forward", "pairing", "directions"}
    for text in (run("prove", "irnn").output, symbptt.derive("irnn").proof_text()):
        assert "the derivative of ReLU(z) and the gradient of ℓ(oₜ, yₜ)" in " ".join(text.split())


def test_a_file_that_is_no_certificate_for_its_length_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "long.v"
    path.write_bytes(b" " * 20_000_001)
    result = run("certificate", str(path))
    assert result.exit_code == 2
    assert "longer than 20,000,000 bytes" in result.output


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.parametrize("command", ["validate", "derive", "replay", "certificate"])
def test_a_named_pipe_is_refused(command: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    # Whoever opens the pipe waits for a writer: another process, which can be ended.
    done = subprocess.run([sys.executable, "-m", "symbptt", command, str(tmp_path / "pipe")], check=False, timeout=30,
                          capture_output=True, text=True)
    assert done.returncode == 2
    assert "cannot be read: it is a named pipe, not a regular file" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device")
def test_a_device_is_refused_and_a_folder_is_one() -> None:
    assert "it is a device, not a regular file" in run("validate", "/dev/zero").output
    assert "Is a directory" in run("validate", "/dev").output
    with pytest.raises(OSError, match="it is a device"):
        symbptt.replay("/dev/zero")


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no folder of open files")
def test_what_a_pipe_gives_to_the_process_is_read(tmp_path: Path) -> None:
    record = run("prove", "linear", "--format", "json").output
    for arguments, given in ((["validate", "/dev/stdin"], source_text("linear")), (["replay", "/dev/stdin"], record),
                             (["replay", "/dev/fd/0"], record)):
        done = subprocess.run([sys.executable, "-m", "symbptt", *arguments], check=False, input=given,
                              capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("arguments", "words"), [
    (("--certificate", "-"), "a certificate is written to a file"),
    *((("--certificate", "cell.v", *more), "--certificate writes a certificate instead of the proofs")
      for more in (("-o", "proofs.txt"), ("--brief",), ("--json",), ("--format", "json"), ("--brief", "--check")))])
def test_a_certificate_is_no_document(arguments: tuple[str, ...], words: str, tmp_path: Path,
                                      monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("prove", "linear", *arguments)
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert words in " ".join(result.stderr.split())
