"""The command line: parse arguments, call, print. Exit 0: done; 1: the answer is no; 2: the input is wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NoReturn

import click
from click.core import ParameterSource

from symbptt import api
from symbptt.cli_emit import ModelAnywhere, asked
from symbptt.cli_signals import tidied
from symbptt.cli_values import folder_of, number_of_steps, number_of_uses, place, place_of_certificate
from symbptt.model.depth import too_deep
from symbptt.model.files import readable
from symbptt.proof import record
from symbptt.proof.checker import CERTIFICATE, CheckerError
from symbptt.proof.vernacular import foreign
from symbptt.render import targets
from symbptt.render.certificate_check import examined, told
from symbptt.render.rows import defined, derivatives, described, summand, summary
from symbptt.render.target import release, write


class Commands(click.Group):
    """The commands; what nests too deeply, or stops standard output from being written, ends them with one line."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run, as click does."""
        try:
            with tidied():
                return super().main(*args, **extra)
        except (api.TooLarge, RecursionError) as error:
            refuse(str(error) if isinstance(error, api.TooLarge) else too_deep())
        except MemoryError:
            refuse("there is not enough memory for this")
        except OSError as error:
            if error.errno is None:
                raise
            if error.filename is not None:
                refuse(f"{error.filename}: {error.strerror or error}")
            refuse(f"standard output cannot be written: {error.strerror or error}")


def refuse(message: str) -> NoReturn:
    """Say on standard error what is wrong, and end with 2."""
    click.echo(message, err=True)
    sys.exit(2)


def read(source: str) -> api.Model:
    """A model by name or path."""
    try:
        return api.load(source)
    except api.InputError as error:
        refuse(str(error))


def derived(source: str, steps: int | None = None, no_limit: bool = False,
            truncate: int | None = None) -> api.Derivation:
    """A derivation, or the reason why there is none."""
    try:
        return api.derive(read(source), steps, None if no_limit else api.EQUATIONS, truncate)
    except ValueError as error:
        refuse(f"{source}: {error}")


def certified(d: api.Derivation, source: str) -> api.Derivation:
    """The derivation with what Coq has just accepted of it; the end, with the reason, where it has not."""
    try:
        return d.certified()
    except api.Refused as error:
        click.echo(f"{source}: the certificate is refused: {error}", err=True)
        sys.exit(1)
    except (ValueError, CheckerError) as error:
        refuse(f"{source}: {error}")


def deliver(text: str, output: Path | None) -> None:
    """To a file or to standard output."""
    if output is None:
        click.echo(text, nl=not text.endswith("\n"))
        return
    try:
        write(output, text)
    except OSError as error:
        refuse(f"{output}: cannot be written: {error.strerror or error}")


def counted(number: int, what: str) -> str:
    """A number of things, in the plural unless it is one."""
    return f"{number} {what}{'' if number == 1 else 's'}"


model_argument = click.argument("model")
steps_option = click.option("--T", "steps", metavar="INTEGER", callback=number_of_steps,
                            help="A number of time steps; without it T stays symbolic.")
truncate_option = click.option("--truncate", metavar="INTEGER", callback=number_of_uses,
                               help="Add back-propagation truncated to so many uses of the weights.")
limit_option = click.option("--no-limit", is_flag=True, help="Unroll, and write out in proofs, however much it costs.")
output_option = click.option("-o", "output", type=click.Path(allow_dash=True), callback=place,
                             help="A file; without it, or as -, standard output.")
json_option = click.option("--json", "as_json", is_flag=True, help="For a program to read.")
check_option = click.option("--check", "checking", is_flag=True,
                            help="Let Coq check the certificate, and say in documents what it accepted.")


@click.group(cls=Commands)
@click.version_option(release(), package_name="symbptt", prog_name="symbptt")
def main() -> None:
    """Derive back-propagation through time, prove it, and print it as documents and code."""


@main.command()
@click.option("--show", metavar="NAME", help="Print the file of a built-in model, ready to be copied and changed.")
@json_option
def models(show: str | None, as_json: bool) -> None:
    """List the built-in models with their equations."""
    if show is not None:
        try:
            click.echo(api.source_text(show), nl=False)
        except api.InputError as error:
            refuse(str(error))
        return
    listed = [api.load(name) for name in api.library()]
    if as_json:
        click.echo(json.dumps([described(m) for m in listed], indent=2))
        return
    for m in listed:
        click.echo(f"{m.name}: {m.title}")
        for equation in m.equations:
            click.echo(f"    {equation.left} = {equation.right}")
        for equation in m.computed:
            click.echo(f"    {equation.left} = {equation.right}")
        for term in m.losses:
            click.echo(f"    L: {summand(term)}")


@main.command()
@click.argument("file", type=click.Path())
def validate(file: str) -> None:
    """Check a model file without deriving anything."""
    m = read(file)
    click.echo(f"{file}: {m.name} is well formed: {counted(len(m.equations), 'equation')}, "
               f"{counted(len(m.parameters), 'parameter')}; L is {', plus '.join(map(summand, m.losses))}")
    if m.opaque:
        click.echo(f"  of {', '.join(m.opaque)} nothing is assumed but that it can be differentiated; losses with a "
                   f"meaning are {', '.join(api.LOSSES)}")
    if m.unread:
        click.echo(f"  nothing reads {', '.join(m.unread)}")


@main.command()
@model_argument
@steps_option
@click.option("--format", "target", type=click.Choice(targets.documents()), default="text", show_default=True)
@click.option("--lang", type=click.Choice(targets.languages()), default="en", show_default=True)
@truncate_option
@limit_option
@check_option
@output_option
@json_option
def derive(model: str, steps: int | None, target: str, lang: str, truncate: int | None, no_limit: bool,
           checking: bool, output: Path | None, as_json: bool) -> None:
    """Derive every gradient of MODEL, a built-in name or a file."""
    source = click.get_current_context().get_parameter_source("target")
    if as_json and source is not ParameterSource.DEFAULT:
        raise click.UsageError("--json is a format of its own; leave --format out, or --json")
    if as_json and checking:
        raise click.UsageError("--check is for a document; leave --json out, or --check")
    d = derived(model, steps, no_limit, truncate)
    if as_json:
        deliver(json.dumps([{"number": x.number, "label": x.label, "kind": x.kind, "name": x.name, "left": str(x.left),
                             "forms": [str(f) for f in x.forms], "lo": None if x.lo is None else str(x.lo),
                             "hi": None if x.hi is None else str(x.hi)} for x in d.steps], indent=2), output)
        return
    if checking:
        d = certified(d, model)
    deliver(targets.render(d.record, target, lang, d.accepted), output)


@main.command()
@model_argument
@steps_option
@truncate_option
@limit_option
@click.option("--format", "target", type=click.Choice(targets.proof_formats()), default="text", show_default=True,
              help="json is the form that `symbptt replay` reads.")
@click.option("--brief", is_flag=True, help="What is given and what is proved, without the proofs.")
@output_option
@json_option
@click.option("--certificate", "certificate_file", type=click.Path(), callback=place_of_certificate, metavar="FILE.v",
              help="Write a certificate for Coq instead, for every T and every truncation; with --check and "
                   "--format, beside the document.")
@check_option
def prove(model: str, steps: int | None, truncate: int | None, no_limit: bool, target: str, brief: bool,
          output: Path | None, as_json: bool, certificate_file: Path | None, checking: bool) -> None:
    """Prove that the recursive form of every gradient of MODEL equals its closed form, and print the proofs.

    With --T the closed form is also proved with every t written out: up to T = 12 in a theorem for each t, above that
    in one theorem that has an equation for each t.
    """
    chosen = click.get_current_context().get_parameter_source("target") is not ParameterSource.DEFAULT
    if certificate_file is not None:
        if as_json or brief or (not checking and (chosen or output is not None)):
            raise click.UsageError("--certificate writes a certificate instead of the proofs; leave --json and --brief "
                                   "out, and --format and -o but for --check, which writes both")
        if not (chosen or output is not None):
            certify(model, certificate_file, checking, truncate)
            return
    if (as_json or brief) and (chosen or as_json == brief):
        raise click.UsageError("--json and --brief are short forms of their own; leave --format out, or them")
    if checking and (as_json or brief):
        raise click.UsageError("--check is for whole proofs; leave --json and --brief out, or --check")
    made = read(model)
    accepted = checked(made, model, truncate, certificate_file) if checking else None
    limit = None if no_limit else api.WORDS
    given = {steps: _proved(made, steps, limit)} if steps is not None else {}
    groups: dict[int | None, tuple[api.ProvedStatement, ...]] = {None: _proved(made, None, limit, truncate)} | given
    if as_json:
        rows = [summary(q, "every T" if n is None else f"T = {n}, every t") | derivatives(api.rests_on(made, q))
                for n, found in groups.items() for q in found]
        deliver(json.dumps(rows, indent=2), output)
        return
    deliver(targets.proofs(made.name, groups, "brief" if brief else target, made, accepted), output)


def checked(model: api.Model, source: str, truncate: int | None, file: Path | None) -> api.Accepted | None:
    """What Coq has just accepted of a model; its certificate is written if a file is named, accepted or not."""
    try:
        d = api.derive(model, truncate=truncate)
        if file is not None:
            deliver(d.certificate(), file)
    except ValueError as error:
        refuse(f"{source}: {error}")
    return certified(d, source).accepted


def certify(source: str, file: Path, checking: bool, truncate: int | None = None) -> None:
    """Write the certificate of a model and, if asked, let Coq check it.

    It states truncation to every number of uses; one that is given is refused where there is nothing to truncate.
    """
    made = derived(source, truncate=truncate)
    text = certificate_of(made, source)
    deliver(text, file)
    if checking:
        judge(text, made.model)


def certificate_of(made: api.Derivation, source: str) -> str:
    """The certificate of a model, or the reason why there is none."""
    try:
        return made.certificate()
    except ValueError as error:
        refuse(f"{source}: {error}")


def judge(text: str, model: api.Model | None, own: str | None = None) -> None:
    """What Coq says of a certificate; exit 1 when it is refused, be it for not stating what one's own does."""
    try:
        verdict = examined(text, model, own)
    except CheckerError as error:
        refuse(str(error))
    for line in told(verdict):
        click.echo(line)
    if not verdict.accepted:
        sys.exit(1)


@main.command()
@click.argument("file", type=click.Path())
@click.option("--model", "source", metavar="MODEL",
              help="Compare the statement with this model first: it must be, word by word, what symbptt writes.")
def certificate(file: str, source: str | None) -> None:
    """Let Coq check a certificate."""
    try:
        text = record.opened(readable(Path(file)), CERTIFICATE)
    except OSError as error:
        refuse(f"{file}: cannot be read: {error.strerror or error}")
    except api.RecordError as error:
        refuse(f"{file}:{'' if error.position else ' '}{error}")
    wrong = foreign(text)
    if wrong is not None:
        refuse(f"{file}: {wrong}")
    if source is None:
        judge(text, None)
    else:
        made = derived(source)
        judge(text, made.model, certificate_of(made, source))


UNCHECKED = "Not checked: what the file says of Coq. symbptt certificate FILE.v lets Coq check a certificate."
"""Said of a file of proofs that claims more than the kernel can replay."""


@main.command()
@click.argument("file", type=click.Path())
@click.option("--format", "target", type=click.Choice(["text", "json"]), default="text", show_default=True)
def replay(file: str, target: str) -> None:
    """Replay the proofs in FILE, which `symbptt prove --format json` wrote; nothing is derived."""
    try:
        written = record.opened(readable(Path(file)))
        found = record.replayed(written)
        claimed = ["", UNCHECKED] if record.claims(written) else []
        lines = [*targets.replayed(found), *claimed] if target == "text" else [json.dumps([
            {"definitions": [defined(d) for d in dict.fromkeys(d for q in group for d in q.proof.definitions)],
             "theorems": list(map(summary, group))} for group in api.together(found)], indent=2)]
        text = "\n".join(lines)
    except api.Refused as error:
        click.echo(f"{file}: not proved: {error}", err=True)
        sys.exit(1)
    except api.RecordError as error:
        refuse(f"{file}:{'' if error.position else ' '}{error}")
    except OSError as error:
        refuse(f"{file}: cannot be read: {error.strerror or error}")
    click.echo(text)


def _proved(model: api.Model, steps: int | None, limit: int | None,
            truncate: int | None = None) -> tuple[api.ProvedStatement, ...]:
    try:
        return api.prove(model, steps, limit, truncate)
    except api.Refused as error:
        click.echo(f"not proved: {error}", err=True)
        sys.exit(1)
    except ValueError as error:
        refuse(f"{model.name}: {error}")


@main.command(cls=ModelAnywhere)
@model_argument
@click.option("--target", type=click.Choice(targets.programs()), default="numpy", show_default=True)
@asked
@output_option
def emit(model: str, target: str, output: Path | None, **options: Any) -> None:
    """Emit a self-contained module that computes the objective of MODEL and every gradient."""
    try:
        text = derived(model).to_code(target, **options)
    except ValueError as error:
        refuse(f"{model}: {error}")
    deliver(text, output)


@main.command()
@model_argument
@steps_option
@truncate_option
@limit_option
@check_option
@click.option("-o", "folder", type=click.Path(), default="output", show_default=True, callback=folder_of,
              help="A folder; everything goes into a folder with the name of the model below it.")
def report(model: str, steps: int | None, truncate: int | None, no_limit: bool, checking: bool, folder: Path) -> None:
    """Write every document and program of MODEL into one folder; with --check, its certificate too."""
    d = derived(model, steps, no_limit, truncate)
    if checking:
        d = certified(d, model)
    try:
        written = d.save(folder / d.model.name)
    except OSError as error:
        if error.errno is None:
            raise
        refuse(f"{error.filename or folder}: cannot be written: {error.strerror or error}")
    click.echo(f"{d.model.name}: {counted(len(d.steps), 'equation')}, {counted(len(d.theorems), 'theorem')} proved")
    if steps is not None and steps > api.WRITTEN_OUT and d.record.closed is not None:
        click.echo(f"not written out, since T is above {api.WRITTEN_OUT}; symbptt prove {model} --T {steps} proves the "
                   "closed form with every t written out")
    if d.accepted is not None:
        click.echo(f"accepted: {counted(len(d.accepted.theorems), 'theorem')}, by {d.accepted.version}")
    for path in written:
        click.echo(f"  {path}")


if __name__ == "__main__":
    main()
