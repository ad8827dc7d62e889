"""`duolog schema plan` and `apply`: a registry as a directory of schemas describes it."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Final

import click

from duolog.cli.errors import CONFLICT, FAILED, report
from duolog.cli.kafka.topics import confirm
from duolog.cli.registry.options import RegistryAddress, registry_options
from duolog.cli.registry.refusals import refusals
from duolog.cli.registry.schema_apply import apply as carry_out
from duolog.cli.registry.schema_directory import read_directory
from duolog.cli.registry.schema_plan import Step, plan_of
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column
from duolog.core.errors import DuologError
from duolog.registry.client.admin import RegistryAdmin

COLUMNS: Final = (
    Column("subject", "string", "name of the subject; (global) for the level of all subjects"),
    Column(
        "action",
        "string",
        "register, change, incompatible, older, unchanged, level, mode, unmanaged or delete",
    ),
    Column("version", "int | null", "version that the subject has now"),
    Column("file", "string | null", "file with the schema"),
    Column("detail", "string", "changed fields, settings, or broken rules"),
    Column("differences", "array", "changed fields as in schema diff; not shown in tables"),
)
_DIFFERENCES: Final = (
    Column("path", "string", "path of the field"),
    Column("change", "string", "added, removed or changed"),
    Column("old", "string | null", "type of the field now"),
    Column("new", "string | null", "type of the field in the file"),
    Column("backward", "string", "ok if the new schema reads old records, else the broken rules"),
    Column("forward", "string", "ok if the old schema reads new records, else the broken rules"),
)
_CHANGED: Final = 2


def directory_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add DIR and --prune; a command with them reports its errors with its own exit status."""

    @click.argument(
        "directory",
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
    )
    @click.option(
        "--prune",
        is_flag=True,
        help="Soft-delete the subjects that DIR does not have.",
    )
    @click.option(
        "--detailed-exitcode",
        "detailed",
        is_flag=True,
        help="Exit with 0 if nothing changes, 2 if something changes, and 1 for an error.",
    )
    @output.output_option
    @registry_options
    @wraps(command)
    def with_directory(*, detailed: bool, form: str, **options: object) -> object:
        if form == "help":
            click.echo(output.help_text(COLUMNS), nl=False)
            return None
        try:
            status = command(form=form, **options)
        except DuologError as error:
            if not detailed:
                raise
            report(error)
            return FAILED
        if detailed:
            return FAILED if status == CONFLICT else status
        return 0 if status == _CHANGED else status

    return with_directory


@click.command()
@directory_options
def plan(*, directory: Path, prune: bool, form: str, registry: RegistryAddress) -> int:
    """Show what `apply` would change in the registry; change nothing.

    DIR contains one file for each subject: SUBJECT.avsc, SUBJECT.proto or SUBJECT.json, and
    optionally schemas.toml with compatibility levels, modes and references. The exit status is 6 if
    a schema is incompatible.

    \b
    Examples:
      duolog schema plan schemas
      duolog schema plan schemas --detailed-exitcode -o json
    """
    steps = _planned(directory, registry.admin(), prune=prune)
    _show(steps, form)
    return _status(steps)


@click.command()
@directory_options
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def apply(*, directory: Path, prune: bool, form: str, yes: bool, registry: RegistryAddress) -> int:
    """Change the registry to what DIR describes, after showing the plan.

    Schemas are registered after those that they refer to. Nothing is deleted without --prune. If a
    schema is incompatible, nothing is changed, and the exit status is 6. A second run changes
    nothing; a run that was interrupted is continued by the next one.

    \b
    Examples:
      duolog schema apply schemas
      duolog schema apply schemas --yes
      duolog schema apply schemas --prune
    """
    admin = registry.admin()
    steps = _planned(directory, admin, prune=prune)
    _show(steps, form)
    status = _status(steps)
    if status != _CHANGED:
        return status
    wanted = sum(step.changes for step in steps)
    if not yes:
        confirm(f"Make {wanted} change{'s' * (wanted != 1)} in {registry.shown}?")
    done: list[str] = []

    def tell(line: str) -> None:
        done.append(line)
        click.echo(line, err=True)

    try:
        carry_out(steps, admin, tell)
    except DuologError as error:
        error.detail = f"{error.detail} {len(done)} of {wanted} changes are done.".strip()
        error.hint = error.hint or "Run the command again to continue."
        raise
    return status


def _planned(directory: Path, admin: RegistryAdmin, *, prune: bool) -> list[Step]:
    read = read_directory(directory)
    with refusals(f'compare "{directory}" with the registry'):
        return plan_of(read, admin, prune=prune)


def _status(steps: Sequence[Step]) -> int:
    if any(step.action == "incompatible" for step in steps):
        return CONFLICT
    return _CHANGED if any(step.changes for step in steps) else 0


def _show(steps: Sequence[Step], form: str) -> None:
    rows = [
        {
            "subject": step.subject,
            "action": step.action,
            "version": step.version,
            "file": step.file and step.file.path.name,
            "detail": step.detail,
            "differences": [one._asdict() for one in step.differences],
        }
        for step in steps
    ]
    if form != "table":
        output.write_rows(rows, COLUMNS, form)
        return
    if rows:
        output.write_rows(rows, [one for one in COLUMNS if one.name != "differences"], form)
    for step in steps:
        if step.differences:
            click.echo(
                f"\n{step.subject}, version {step.version} and {step.file and step.file.path.name}:"
            )
            output.write_rows([one._asdict() for one in step.differences], _DIFFERENCES, form)
    counted = Counter(step.action for step in steps)
    told = ", ".join(f"{number} {action}" for action, number in counted.items())
    click.echo(f"plan: {told or 'nothing to do'}", err=True)
