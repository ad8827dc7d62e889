"""`duolog schema config`: compatibility levels and modes, global and of single subjects."""

import json
from typing import TYPE_CHECKING, Final

import click

from duolog.cli.commands.registry import LEVELS
from duolog.cli.kafka.topics import read_assignment
from duolog.cli.registry.completion import complete_subjects
from duolog.cli.registry.options import RegistryAddress, registry_options
from duolog.cli.registry.refusals import refusals
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column, Row
from duolog.registry.client.admin import RegistryAdmin
from duolog.registry.json_text import Json

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS: Final = (
    Column("setting", "string", "name of the setting"),
    Column("value", "json", "value that holds"),
    Column("source", "string", "where the value is set: subject or global"),
)
MODES: Final = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT")
_LEVEL: Final = "compatibilityLevel"
_LEVEL_SET: Final = "compatibility"
_IMPORT: Final = "IMPORT"
_NOT_EMPTY: Final = 42205


@click.command()
@click.argument("subject", required=False, shell_complete=complete_subjects)
@click.option(
    "-c",
    "--compatibility",
    type=click.Choice(LEVELS, case_sensitive=False),
    help="Set the compatibility level.",
)
@click.option(
    "-m",
    "--mode",
    type=click.Choice(MODES, case_sensitive=False),
    help="Set the mode. IMPORT accepts schemas with ids of another registry.",
)
@click.option("--force", is_flag=True, help="Allow --mode IMPORT although there are schemas.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set another setting by its name in the registry's API, such as normalize=true. "
    "Repeatable.",
)
@click.option(
    "--unset", is_flag=True, help="Remove all settings of the subject, or the global ones."
)
@output.output_option
@registry_options
def config(
    *,
    subject: str | None,
    compatibility: str | None,
    mode: str | None,
    force: bool,
    assignments: tuple[str, ...],
    unset: bool,
    form: str,
    registry: RegistryAddress,
) -> None:
    """Show or change the settings of SUBJECT. Without SUBJECT, the global settings.

    \b
    Examples:
      duolog schema config
      duolog schema config orders-value --compatibility FULL_TRANSITIVE
      duolog schema config orders-value --mode READONLY
      duolog schema config orders-value --set normalize=true
      duolog schema config orders-value --unset
    """
    if form == "help":
        return click.echo(output.help_text(COLUMNS), nl=False)
    changes = dict(map(_assignment, assignments))
    if compatibility is not None:
        changes[_LEVEL_SET] = compatibility.upper()
    if unset and (changes or mode):
        raise click.UsageError("Use --unset alone.")
    if force and mode is None:
        raise click.UsageError("Use --force with --mode.")
    admin = registry.admin()
    of = "the global settings" if subject is None else f'settings of subject "{subject}"'
    doing = f"change {of}" if changes or mode or unset else f"show {of}"
    with refusals(doing, _hint if mode == _IMPORT else _no_hint):
        if unset:
            _unset(admin, subject)
        if changes:
            admin.set_config(subject, changes)
        if mode is not None:
            admin.set_mode(subject, mode.upper(), force=force)
        if changes or mode or unset:
            click.echo(f"changed {of}", err=True)
        rows = _rows(admin, subject)
    return output.write_rows(rows, COLUMNS, form)


def _assignment(text: str) -> tuple[str, Json]:
    """Read `NAME=VALUE`; a value that is not JSON is a text."""
    name, value = read_assignment(text)
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def _unset(admin: RegistryAdmin, subject: str | None) -> None:
    # The mode first: it may forbid changes of the configuration.
    if admin.mode(subject) is not None:
        admin.unset_mode(subject)
    if admin.config(subject) is not None:
        admin.unset_config(subject)


def _rows(admin: RegistryAdmin, subject: str | None) -> list[Row]:
    own: Mapping[str, Json] = {}
    own_mode = None
    if subject is not None:
        own, own_mode = admin.config(subject) or {}, admin.mode(subject)
    whole = {**(admin.config(None) or {}), **own}
    rows: list[Row] = [
        {
            "setting": _LEVEL_SET if name == _LEVEL else name,
            "value": value,
            "source": "subject" if name in own else "global",
        }
        for name, value in sorted(whole.items())
    ]
    mode = own_mode or admin.mode(None)
    source = "subject" if own_mode else "global"
    return [*rows, {"setting": "mode", "value": mode, "source": source}]


def _no_hint(_code: int) -> str:
    return ""


def _hint(code: int) -> str:
    if code == _NOT_EMPTY:
        return "Add --force, or delete the schemas first: ids of another registry may clash."
    return ""
