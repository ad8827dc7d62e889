"""Options of `duolog dlq replay` that correct keys and values."""

import importlib.util
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from duolog.cli.records.field_forms import Forms
from duolog.cli.records.field_text import read_field, read_json_field
from duolog.cli.text.json_text import items_of
from duolog.core.errors import SerdeError, StatementError
from duolog.core.exception_text import describe_exception
from duolog.runtime.dead_letters.corrections import SAME, ByFunction, Correction, Fixed
from duolog.runtime.dead_letters.letter import Letter

_PARTS: Final = ("value", "key")
_KINDS: Final = ("", "_json", "_file", "_sql")


class Given(NamedTuple):
    """Values of the options; empty or None if they are not given."""

    key: str | None
    key_json: str | None
    key_file: Path | None
    key_sql: str | None
    value: str | None
    value_json: str | None
    value_file: Path | None
    value_sql: str | None
    function: str | None

    @property
    def is_fixed(self) -> bool:
        """True if a key or value is given for all letters."""
        return any(part is not None for part in (*self[0:3], *self[4:7]))

    def correction(self, forms: Forms) -> AbstractContextManager[Correction]:
        """Return the correction, to be entered before it is used.

        Raises:
            click.UsageError: several options exclude each other.
            SerdeError: a key or value is not of its form.
            StatementError: an expression, or the file of the function, is invalid.
        """
        by_part = {"key": self[0:4], "value": self[4:8]}
        for part, values in by_part.items():
            if sum(value is not None for value in values) > 1:
                raise click.UsageError(f"Use only one of the options that set the {part}.")
        ways = (self.is_fixed, bool(self.key_sql or self.value_sql), self.function is not None)
        if sum(ways) > 1:
            raise click.UsageError("Use either values, SQL expressions, or --function.")
        if self.function is not None:
            return nullcontext(ByFunction(load_function(self.function)))
        if self.key_sql or self.value_sql:
            # The SQL front end takes a moment to load.
            from duolog.runtime.dead_letters.sql_corrections import BySql  # noqa: PLC0415

            return BySql(self.key_sql or "", self.value_sql or "")
        key = _given("key", forms, self.key, self.key_json, self.key_file)
        value = _given("value", forms, self.value, self.value_json, self.value_file)
        return nullcontext(Fixed(key, value))


def _given(
    part: str, forms: Forms, text: str | None, json_text: str | None, file: Path | None
) -> object:
    form = getattr(forms, part)
    if text is not None:
        return read_field(form, part, text.encode())
    if json_text is not None:
        return read_json(part, form, json_text)
    return SAME if file is None else file.read_bytes()


def read_json(part: str, form: object, text: str) -> bytes | None:
    """Return the bytes of a key or value given as JSON.

    Raises:
        SerdeError: the text is not JSON, or not of the form.
    """
    try:
        (only,) = items_of(f"[{text}]")
        return read_json_field(form, part, only)  # type: ignore[arg-type]  # one of Forms
    except (ValueError, RecursionError) as error:
        raise SerdeError(f"the new {part} is not JSON", detail=str(error)) from error


def load_function(named: str) -> Callable[[Letter], object]:
    """Return the function of `FILE.py:NAME`.

    Raises:
        StatementError: the file cannot be run, or has no such function.
    """
    path, _, name = named.rpartition(":")
    if not path:
        path, name = named, "correct"
    file = Path(path)
    if not file.is_file():
        raise StatementError(
            f'file "{path}" does not exist', hint="Write FILE.py:NAME.", place=path
        )
    spec = importlib.util.spec_from_file_location("duolog_correction", file)
    if spec is None or spec.loader is None:
        raise StatementError(f'"{path}" is not a Python file', place=path)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up there. Modules next to the file can be imported.
    sys.modules[spec.name] = module
    if (directory := str(file.resolve().parent)) not in sys.path:
        sys.path.insert(0, directory)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise StatementError(
            f'file "{path}" raised an error', detail=describe_exception(error), place=path
        ) from error
    found = getattr(module, name, None)
    if not callable(found):
        raise StatementError(
            f'file "{path}" has no function "{name}"', hint="Write FILE.py:NAME.", place=path
        )
    function: Callable[[Letter], object] = found
    return function


def correction_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add the options that correct letters to a command, passed to it as `given`."""

    @wraps(command)
    def with_correction(*, function: str | None, **rest: object) -> object:
        names = (f"{part}{kind}" for part in ("key", "value") for kind in _KINDS)
        values: dict[str, Any] = {name: rest.pop(f"set_{name}") for name in names}
        return command(given=Given(**values, function=function), **rest)

    click.option(
        "--function",
        metavar="FILE.py[:NAME]",
        help="Call this Python function with each letter. It returns the value, or key and value, "
        "or False to leave the letter. Default name: correct.",
    )(with_correction)
    path = click.Path(exists=True, dir_okay=False, path_type=Path)
    for part in _PARTS:
        for kind, metavar, told in (
            ("-sql", "EXPRESSION", f"Compute the {part} by a SQL expression."),
            ("-file", "FILE", f"Set the {part} to the bytes of a file."),
            ("-json", "JSON", f"Set the {part} to JSON, or to null."),
            ("", "TEXT", f"Set the {part} to a text."),
        ):
            click.option(
                f"--set-{part}{kind}",
                metavar=metavar,
                type=path if kind == "-file" else str,
                help=told,
            )(with_correction)
    return with_correction
