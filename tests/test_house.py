"""The house rules: imports run one way, tables are total, the trusted base is small, templates hold no mathematics."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "symbptt"

LAYERS = [
    {"expr"},
    {"model"},
    {"proof.statement", "proof.axioms"},
    {"proof.kernel"},
    {"bptt", "proof"},
    {"derivation"},
    {"program"},
    {"render"},
    {"accumulation", "gradients"},
    {"derive"},
    {"api"},
    {"cli", "cli_emit", "cli_signals", "cli_values", "__init__", "__main__"},
]
"""Bottom up; a module may import its own layer and those below."""

TRUSTED = ["expr/nodes.py", "expr/index.py", "expr/shape.py", "expr/walk.py", "proof/statement.py", "proof/axioms.py",
           "proof/kernel.py"]


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def dotted(path: Path) -> str:
    name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    return name.removesuffix(".__init__") or "__init__"


def layer(name: str) -> int:
    for length in range(name.count(".") + 1, 0, -1):
        head = ".".join(name.split(".")[:length])
        for number, names in enumerate(LAYERS):
            if head in names:
                return number
    raise AssertionError(f"{name} has no place in the architecture")


def imports(source: str) -> Iterator[tuple[str, bool]]:
    """(module of ours, whether the import stands at the top) for every import of ours in a source."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            base = node.module or ""
            names = [f"{base}.{alias.name}" if (PACKAGE.parent / base.replace(".", "/") / f"{alias.name}.py").exists()
                     or (PACKAGE.parent / base.replace(".", "/") / alias.name).is_dir() else base
                     for alias in node.names]
        else:
            continue
        for name in names:
            if name == "symbptt" or name.startswith("symbptt."):
                yield name.removeprefix("symbptt").lstrip(".") or "__init__", node in tree.body


def faults(name: str, source: str) -> list[str]:
    """What is wrong with the imports of a module."""
    found = []
    for other, at_top in imports(source):
        if not at_top:
            found.append(f"{name} imports {other} late")
        if layer(other) > layer(name):
            found.append(f"{name} imports {other}, which lies above it")
    return found


def code_lines(source: str) -> int:
    """Lines that hold code: no blank lines, comments or docstrings."""
    documentation: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            documentation |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    silent = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in silent:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - documentation)


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_imports_follow_the_arrows(path: Path) -> None:
    assert faults(dotted(path), path.read_text(encoding="utf-8")) == []


def test_a_planted_upward_import_is_found() -> None:
    assert faults("expr.nodes", "from symbptt.model.spec import Model")
    assert faults("proof.kernel", "from symbptt.proof.prover import Prover")
    assert faults("bptt.rules", "def f():\n    from symbptt.expr.nodes import At")


def test_no_import_cycle() -> None:
    graph = {dotted(p): {other for other, _ in imports(p.read_text(encoding="utf-8"))} for p in modules()}
    done: set[str] = set()

    def walk(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, f"cycle: {' -> '.join((*trail, name))}"
        if name not in done:
            for other in graph.get(name, ()):
                walk(other, (*trail, name))
            done.add(name)

    for name in graph:
        walk(name, ())


def test_the_kernel_imports_nothing_but_the_trusted_base_and_sympy() -> None:
    allowed = {dotted(PACKAGE / name) for name in TRUSTED}
    for name in TRUSTED:
        source = (PACKAGE / name).read_text(encoding="utf-8")
        assert {other for other, _ in imports(source)} <= allowed, name
        outside = {(node.module or "").split(".")[0] for node in ast.walk(ast.parse(source))
                   if isinstance(node, ast.ImportFrom)} - {"symbptt"}
        standard = {"__future__", "collections", "dataclasses", "functools", "itertools", "typing"}
        assert outside <= standard | {"sympy"}, name


def test_the_trusted_base_is_small() -> None:
    sizes = {name: code_lines((PACKAGE / name).read_text(encoding="utf-8")) for name in TRUSTED}
    assert sizes["proof/kernel.py"] <= 250, sizes
    assert sum(sizes.values()) <= 700, sizes


def test_code_lines_counts_code_only() -> None:
    function = 'def f():\n    """Doc\n    more."""\n    return x\n'
    assert code_lines('"""Doc."""\n\n# comment\nx = 1  # why\n\n' + function) == 3


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_files_and_functions_are_short(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert code_lines(source) <= 300
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, f"{node.name} is long"


def test_nothing_a_person_wrote_is_executed() -> None:
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                assert called not in {"eval", "exec", "sympify", "parse_expr", "__import__"}, path
                assert called != "compile" or isinstance(node.func, ast.Attribute), path  # re.compile is harmless


MATHEMATICS = re.compile(r"W_|\\partial|\\sum|\\top|\\frac|\\boldsymbol|h_t|h_\{|∂|Σ|⊤|\bdL_|np\.(dot|matmul|einsum)|"
                         r"\S @ ")


def mathematics(text: str) -> list[str]:
    """The lines of a template that hold mathematics outside placeholders."""
    bare = re.sub(r"<<.*?>>|<%.*?%>|<#.*?#>", "", text, flags=re.DOTALL)
    return [line for line in bare.splitlines() if MATHEMATICS.search(line)]


def test_templates_hold_no_mathematics() -> None:
    templates = [p for p in (ROOT / "templates").rglob("*") if p.is_file()]
    assert templates
    for path in templates:
        assert mathematics(path.read_text(encoding="utf-8")) == [], path


def test_planted_mathematics_is_found() -> None:
    assert mathematics(r"The gradient is $W_{hh}^\top$.")
    assert mathematics("    dL_dh = dL_dh @ W_hh")
    assert not mathematics("<< formula >>\n<% for line in lines %>")


def test_templates_do_not_test_types() -> None:
    for path in (ROOT / "templates").rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"isinstance|__class__|\btype\(", text), path


PRIVATE = re.compile("|".join(["iss" + "ue[ #]", "ses" + "sion", "/wo" + "rk/", "/ro" + "ot/", "clau" + "de",
                                "seed " + "note"]), re.IGNORECASE)


def test_the_project_speaks_of_itself_alone() -> None:
    kinds = {".py", ".md", ".toml", ".cff", ".jinja", ".tex", ".txt", ""}
    for folder in ("symbptt", "templates", "tests", "docs", "benchmarks", "tools", "."):
        for path in (ROOT / folder).rglob("*") if folder != "." else ROOT.glob("*"):
            if path.is_file() and path.suffix in kinds and "__pycache__" not in path.parts:
                match = PRIVATE.search(path.read_text(encoding="utf-8").replace('scope="session"', ""))
                assert match is None, f"{path.relative_to(ROOT)}: {match and match.group()}"
