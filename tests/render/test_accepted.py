"""What documents say that Coq accepted: word by word what stands in the certificate, and nothing without a check."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import symbptt
from symbptt import api
from symbptt.cli import UNCHECKED, main
from symbptt.model.spec import Model
from symbptt.proof import checker, record
from symbptt.proof.axioms import Refused
from symbptt.proof.checker import CLASSICAL, Checked, Verdict
from symbptt.proof.grammar import HEADER
from symbptt.proof.quotation import quotation
from symbptt.proof.vernacular import sentences
from symbptt.render import targets
from symbptt.render.accepted import Accepted
from symbptt.render.certificate_math import NotCovered
from symbptt.render.code import WIDTH, folded
from tests.conftest import FILES, derived, loaded

VERSION = "The Coq Proof Assistant, version 0"
FEW = ["linear", "computed_start", "gru", "second-order", "stacked"]
TRIED = [name if name in FEW else pytest.param(name, marks=pytest.mark.slow)
         for name in sorted({*FEW, *sorted(FILES)[::3]})]
COMMANDS = {"derive": ("derive", "linear", "-o", "{}/out"), "prove": ("prove", "linear", "-o", "{}/out"),
            "latex": ("prove", "linear", "--format", "latex", "-o", "{}/out"),
            "json": ("prove", "linear", "--format", "json", "-o", "{}/out"),
            "report": ("report", "linear", "-o", "{}/out")}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def supposed(name: str, count: int | None = None) -> Accepted:
    """What there would be to say had Coq accepted the certificate of a model; tests of words and layout need no Coq.

    With a count, that many theorems, and one axiom of the last.
    """
    model = loaded(FILES[name])
    text = api.Derivation(derived(model)).certificate()
    stated = [s for s in sentences(text) if s.words[:1] == ["Theorem"]][:count]
    axioms = tuple(f"boolp.{axiom}" for axiom in sorted(CLASSICAL))
    theorems = tuple(Checked(s.words[1], s.text.partition(" : ")[2], () if s.words[1] != "gradient" else axioms)
                     for s in stated)
    if count is not None:
        theorems = (*theorems[:-1], replace(theorems[-1], axioms=axioms[:1]))
    return Accepted(model, text, Verdict(True, "", VERSION, theorems))


def blocks(text: str, target: str) -> list[str]:
    """The blocks of code in the section on Coq, each on one line with single blanks."""
    _, title, section = text.replace(r"\section*{", r"\section{").partition({
        "text": "WHAT COQ ACCEPTED", "latex": r"\section{What Coq accepted}",
        "markdown": "## What Coq accepted"}[target])
    assert title
    if target == "latex":
        found = re.findall(r"\\begin\{alltt\}\n(.*?)\\end\{alltt\}", section, re.DOTALL)
        found = [re.sub(r"\\char(\d+)\{\}", lambda m: "'" if m[1] == "13" else chr(int(m[1])), b) for b in found]
    elif target == "markdown":
        found = re.findall(r"^```\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    else:
        found = re.findall(r"(?:^    .*\n(?:\n(?=    ))?)+", section, re.MULTILINE)
    return [" ".join(b.split()) for b in found]


def faithful(text: str, target: str, certificate: str) -> None:
    """The document quotes every theorem of the certificate, and sentences of it alone."""
    again, setting, *theorems = blocks(text, target)
    read = [s.text for s in sentences(certificate)]
    assert theorems == [f"{s}." for s in read if s.startswith("Theorem ")]
    assert hashlib.sha256(certificate.encode()).hexdigest() in again.split()
    quoted = [s.text for s in sentences(setting)]
    rest = iter(read)
    assert all(s in rest for s in quoted), "the sentences stand in the order of the certificate"
    for needed in (r"Definition loss :", r"Fixpoint run ", r"Record (given|point|state|recursion) ", r"Definition dL_",
                   r"Hypothesis real_", r"Definition along ", r"Definition lifted ", r"Import "):
        found = [s for s in read if re.match(needed, s) and not s.startswith("Import GRing")]
        assert set(found) <= set(quoted), needed


@pytest.mark.parametrize("name", TRIED)
def test_the_quotation_is_the_certificates(name: str) -> None:
    found = supposed(name)
    d = api.Derivation(derived(found.model), found)
    for target, text in (("text", d.to_text()), ("markdown", d.to_markdown()), ("latex", d.to_latex())):
        faithful(text, target, found.text)
        assert VERSION in " ".join(text.split())
    for target in ("text", "markdown", "latex") if name == "linear" else ():
        faithful(d.proof_text(target), target, found.text)


@pytest.mark.parametrize("name", TRIED)
def test_what_a_quoted_sentence_speaks_of_is_quoted(name: str) -> None:
    """No name of the certificate stands in the quotation without the sentence that gives it its meaning."""
    found = supposed(name)
    quoted = quotation(found.text, [q.name for q in found.theorems])
    naming = re.compile(r"(?:Definition|Fixpoint|Record|Local Notation|Variables?|Hypothesis) \(?([\w']+)")
    named = {m[1] for s in sentences(found.text) if (m := naming.match(s.text))}
    here = {m[1] for s in sentences("\n".join(quoted.setting)) if (m := naming.match(s.text))}
    spoken = {w for lines in (quoted.setting, *(q.lines for q in quoted.theorems))
              for s in sentences("\n".join(lines)) for w in s.words}
    bound = {w for s in sentences(found.text) for w in re.findall(r"(?:fun|let|\() ?([\w']+)(?: :=| =>| :)", s.text)}
    assert spoken & named - bound <= here


def test_a_quotation_is_no_comment() -> None:
    """A text that only looks like the theorem is not what is quoted."""
    text = ("Section A. Variable n : nat. (* Theorem a : n = 0. *)\nTheorem a : n =\n  n.\nProof. by []. Qed. End A.\n")
    found = quotation(text, ["a"])
    assert found.theorems[0].lines == ("Theorem a : n =", "  n.")
    assert found.theorems[0].section == "A"
    assert found.setting == ("Section A.", "Variable n : nat.", "End A.")
    within = quotation(text.replace("n =\n", "n (* Theorem a : n = n. *) =\n"), ["a"])
    assert within.theorems[0].lines == ("Theorem a : n = n.",)


def test_long_lines_are_folded_at_blanks() -> None:
    text = supposed("gru").text.split("\n")
    made = list(folded(text))
    assert " ".join(" ".join(made).split()) == " ".join(" ".join(text).split())
    assert max(map(len, made)) <= WIDTH
    assert list(folded(["x" * 200, ""])) == ["x" * 200, ""]
    assert list(folded([f"  a{' b' * 50}"])) == [f"  a{' b' * 42}", f"      {'b ' * 7}b"]


@pytest.mark.parametrize("name", ["linear", pytest.param("lstm", marks=pytest.mark.slow)])
def test_the_article_compiles_and_stays_on_the_page(name: str, tmp_path: Path) -> None:
    pdflatex = shutil.which("pdflatex")
    if pdflatex is None:
        if os.environ.get("SYMBPTT_CI"):
            pytest.fail("pdflatex is not installed")
        pytest.skip("pdflatex is not installed")
    found = supposed(name)
    (tmp_path / "d.tex").write_text(api.Derivation(derived(found.model), found).to_latex(), encoding="utf-8")
    ended = subprocess.run([pdflatex, "-draftmode", "-interaction=nonstopmode", "-halt-on-error", "d.tex"],
                           cwd=tmp_path, capture_output=True, check=False)
    log = (tmp_path / "d.log").read_text(encoding="latin-1")
    assert ended.returncode == 0, log[-2000:]
    assert not [w for w in re.findall(r"Overfull \\hbox \((\d+\.\d+)pt too wide\)", log) if float(w) > 10]


def test_plain_text_fits_the_terminal() -> None:
    found = supposed("gru")
    _, *lines = api.Derivation(derived(found.model), found).to_text().splitlines()
    assert max(map(len, lines)) <= 100


# Nothing is claimed without a check. ----------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["linear", "gru"])
def test_without_a_check_no_document_speaks_of_coq(name: str) -> None:
    d = api.Derivation(derived(loaded(FILES[name]), 3))
    made = {str(path): text for path, text in targets.everything(d.record).items()}
    made |= {form: d.proof_text(form) for form in targets.proof_formats()}
    assert [path for path, text in made.items() if re.search("coq", text, re.IGNORECASE)] == []
    assert d.accepted is None


def test_what_is_not_accepted_cannot_be_told() -> None:
    found = supposed("linear")
    for verdict in (replace(found.verdict, accepted=False, reason="no"), replace(found.verdict, version=""),
                    replace(found.verdict, theorems=())):
        with pytest.raises(Refused):
            Accepted(found.model, found.text, verdict)


def test_the_document_of_another_model_says_nothing_of_it() -> None:
    found, other = supposed("linear"), loaded(FILES["elman"])
    d = api.Derivation(derived(other), found)
    for make in (d.to_text, d.to_latex, d.proof_text, d.proof_json):
        with pytest.raises(ValueError, match="about the model linear"):
            make()


def planted(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checker on the path that is none."""
    (folder / "bin").mkdir()
    (folder / "bin" / "coqc").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / "bin" / "coqc").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder / "bin"), prepend=os.pathsep)
    monkeypatch.setenv("SYMBPTT_CACHE", str(folder / "cache"))


def said(command: str, folder: Path) -> Result:
    """What a command says that shall have Coq check; whatever it says, it has written nothing."""
    done = run(*(word.format(folder) for word in COMMANDS[command]), "--check")
    assert done.exit_code
    assert not (folder / "out").exists()
    assert done.stdout == ""
    return done


SILENT = {"nothing": "exit 0", "a version": f'[ "$1" = --version ] && echo "{VERSION}"; exit 0',
          "only that there are no axioms": "for k in 1 2 3 4 5 6 7 8 9; do echo Closed under the global context; done"}


PRETENDS = f"""[ "$1" = --version ] && echo "{VERSION}"
for last; do case "$last" in *.v) echo compiled > "${{last%.v}}.vo";; esac; done
"""
"""What a checker does that seems to compile the library."""


@pytest.mark.parametrize("script", SILENT)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_checker_that_compiles_nothing_is_none(command: str, script: str, tmp_path: Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    planted(tmp_path, SILENT[script], monkeypatch)
    done = said(command, tmp_path)
    assert done.exit_code == 2
    assert ("tells no version" if script == "nothing" else "writes no matrices.vo") in done.stderr


@pytest.mark.parametrize("script", SILENT)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_checker_that_proves_nothing_is_not_believed(command: str, script: str, tmp_path: Path,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    planted(tmp_path, PRETENDS + SILENT[script], monkeypatch)
    done = said(command, tmp_path)
    assert done.exit_code == 1
    assert "the certificate is refused: what the theorems rest on cannot be read" in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_without_coq_nothing_is_written(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = said(command, tmp_path)
    assert done.exit_code == 2
    assert "apt-get install" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_tampered_certificate_ends_without_a_document(command: str, tmp_path: Path,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    text, lie = supposed("linear").text, "g_h t = W_hh *m"
    assert lie not in text
    monkeypatch.setattr(api, "certificate", lambda _: text.replace("g_h t = W_hh^T *m", lie))
    done = said(command, tmp_path)
    assert done.exit_code == 1
    assert "the certificate is refused: the statement is not that of linear" in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_model_that_no_certificate_states(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: object) -> str:
        raise NotCovered("a certificate does not cover this")

    monkeypatch.setattr(api, "certificate", missing)
    done = said(command, tmp_path)
    assert done.exit_code == 2
    assert "does not cover this" in done.stderr


@pytest.mark.parametrize(("arguments", "words"), [
    (("derive", "linear", "--json", "--check"), "--check is for a document"),
    (("prove", "linear", "--json", "--check"), "--check is for whole proofs"),
    (("prove", "linear", "--brief", "--check"), "--check is for whole proofs"),
])
def test_short_forms_hold_no_statement(arguments: tuple[str, ...], words: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert words in done.stderr


def test_a_record_may_claim_what_it_likes(tmp_path: Path) -> None:
    """Replaying neither reads nor repeats what a record says of Coq."""
    found = supposed("linear")
    d = api.Derivation(derived(found.model), found)
    written = d.proof_json()
    assert json.loads(written)["coq"] == {"version": VERSION, "sha256": found.digest, "theorems": [
        {"name": q.name, "statement": q.statement, "axioms": list(q.axioms)} for q in found.theorems]}
    bare = api.Derivation(derived(found.model)).proof_json()
    assert "coq" not in json.loads(bare)
    assert not record.claims(bare)
    plain = tmp_path / "plain.json"
    plain.write_text(bare, encoding="utf-8")
    for claim in (json.dumps(found.data()), "null", '"all of it"'):
        path = tmp_path / "claimed.json"
        path.write_text(f'{bare.rstrip()[:-1]},\n"coq": {claim}}}\n', encoding="utf-8")
        told, expected = run("replay", str(path)), run("replay", str(plain))
        assert told.exit_code == 0
        assert told.output == f"{expected.output}\n{UNCHECKED}\n"
        assert run("replay", str(path), "--format", "json").output == run(
            "replay", str(plain), "--format", "json").output
    assert [q.theorem for q in symbptt.replay(written)] == [q.theorem for q in d.theorems]
    with pytest.raises(symbptt.RecordError, match="no field"):
        symbptt.replay(bare.replace('"model":', '"Coq": 1,\n"model":'))


# Coq. -----------------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def coq() -> str:
    """The compiler; a test that needs it is left out where there is none."""
    found = shutil.which("coqc")
    if found is None:
        if os.environ.get("SYMBPTT_CI"):
            pytest.fail("coqc is not installed")
        pytest.skip("coqc is not installed")
    return found


@pytest.mark.slow
def test_every_document_says_what_coq_accepted(coq: str, tmp_path: Path) -> None:
    done = run("report", "linear", "--T", "2", "--check", "-o", str(tmp_path))
    assert done.exit_code == 0, done.output
    text = (tmp_path / "linear" / "certificate" / "linear.v").read_text(encoding="utf-8")
    assert f"accepted: {text.count('Theorem ')} theorems, by {checker.version()}" in done.output
    for target, suffix in (("text", "txt"), ("markdown", "md"), ("latex", "tex")):
        made = (tmp_path / "linear" / target / f"linear.{suffix}").read_text(encoding="utf-8")
        faithful(made, target, text)
        assert checker.version() in " ".join(made.split())
        rests = [re.sub(r"\\(?=_)", "", axiom) for axiom in re.findall(r"boolp\.([\w\\]+)", made)]
        assert set(rests) == CLASSICAL


@pytest.mark.slow
def test_proofs_say_what_coq_accepted(coq: str, tmp_path: Path) -> None:
    certificate, document = tmp_path / "linear.v", tmp_path / "linear.md"
    done = run("prove", "linear", "--check", "--format", "markdown", "--certificate", str(certificate), "-o",
               str(document))
    assert (done.exit_code, done.stdout) == (0, ""), done.output
    faithful(document.read_text(encoding="utf-8"), "markdown", certificate.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_from_python(coq: str) -> None:
    d = symbptt.derive("linear", T=3).certified()
    assert d.accepted is not None
    assert d.accepted.text == symbptt.derive("linear").certificate()
    faithful(d.to_text(), "text", d.certificate())
    assert json.loads(d.proof_json())["coq"]["sha256"] == d.accepted.digest


@pytest.mark.slow
def test_a_proof_that_coq_refuses_ends_without_a_document(coq: str, tmp_path: Path,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    """The statement is the model's, so that Coq alone can find it."""
    text = supposed("linear").text
    assert "exact: adjoint_sums" in text
    monkeypatch.setattr(api, "certificate", lambda _: text.replace("exact: adjoint_sums", "exact: total_x"))
    done = said("report", tmp_path)
    assert done.exit_code == 1
    assert "the certificate is refused: Coq refuses it" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["linear", "gru"])
def test_the_quotation_stands_by_itself(name: str, coq: str, tmp_path: Path,
                                        named: Callable[[str], Model]) -> None:
    """With the library alone Coq understands every quoted statement: nothing that it speaks of is left out."""
    text = symbptt.derive(named(name)).certificate()
    names = [s.words[1] for s in sentences(text) if s.words[:1] == ["Theorem"]]
    quoted = quotation(text, names)
    file = "".join(f"{line}.\n" for line in HEADER) + "\n".join(quoted.setting)
    for q in quoted.theorems:
        file = file.replace(f"End {q.section}.", "\n".join([*q.lines, "Admitted.", f"End {q.section}."]))
    (tmp_path / "quoted.v").write_text(file, encoding="utf-8")
    ended = subprocess.run([coq, "-q", "-w", "none", "-Q", str(checker.library()), "symbptt", "quoted.v"],
                           cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
