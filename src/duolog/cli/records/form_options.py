"""Options that specify the encoding of a topic's keys and values."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Final, NamedTuple

import click

from duolog.cli.records.field_forms import (
    PLAIN,
    TYPES,
    FieldForm,
    Forms,
    WindowForm,
    form_of_columns,
    form_of_type,
)
from duolog.cli.records.pack_form import form_of_pack
from duolog.cli.text.times import read_duration
from duolog.core.errors import StatementError
from duolog.core.types import Column, parse_columns, parse_type

SESSION: Final = "session"
_PARTS: Final = ("key", "value")


class FormOptions(NamedTuple):
    """Values of the encoding options of a command."""

    key_type: str | None
    value_type: str | None
    packs: tuple[str, ...]
    like: Path | None
    key_schema: str | None = None
    key_window: str | None = None
    key_format: str | None = None
    value_format: str | None = None

    def forms_of(self, topic: str) -> Forms:
        """Return the forms that the options specify for a topic.

        Raises:
            click.UsageError: two options specify the same form.
            click.BadParameter: an option is invalid.
            StatementError: the file of `--like` has no topology, or its topology does not use this
                topic.
        """
        found = self._given()
        named = {"key": self.key_format, "value": self.value_format}
        for part, forms in found.items():
            if len(forms) + (named[part] is not None) > 1 or (forms and self.like):
                raise click.UsageError(
                    f"several options specify the form of the {part}s; use only one"
                )
        if self.like is not None:
            if self.key_window is not None:
                raise click.UsageError(
                    "--like already specifies the window of the keys; leave out --key-window"
                )
            from duolog.cli.records.topology_forms import forms_like  # noqa: PLC0415 - the DSL, only for --like

            return forms_like(self.like, topic)
        key, value = (forms[0] if forms else PLAIN for forms in found.values())
        if self.key_window is not None:
            key = WindowForm(key, _size_ms(self.key_window))
        return Forms(key, value)

    def _given(self) -> dict[str, list[FieldForm]]:
        found: dict[str, list[FieldForm]] = {part: [] for part in _PARTS}
        for part, type_name in (("key", self.key_type), ("value", self.value_type)):
            if type_name is not None:
                found[part].append(form_of_type(type_name))
        if self.key_schema is not None:
            found["key"].append(form_of_schema(self.key_schema))
        for text in self.packs:
            for part, form in _of_pack(text):
                found[part].append(form)
        return found


def form_options(*, schema: bool) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Return a decorator that adds the options of key and value types to a command.

    The command receives them as `options`. With `schema`, also adds `--key` and `--key-window`,
    which declare the key as a topology does.
    """

    def decorate(command: Callable[..., object]) -> Callable[..., object]:
        @wraps(command)
        def with_forms(
            *,
            key_type: str | None,
            value_type: str | None,
            packs: tuple[str, ...],
            like: Path | None,
            key_format: str | None,
            value_format: str | None,
            key_schema: str | None = None,
            key_window: str | None = None,
            **rest: object,
        ) -> object:
            options = FormOptions(
                *(key_type, value_type, packs, like, key_schema, key_window),
                *(key_format, value_format),
            )
            return command(options=options, **rest)

        formats = _format_options((*FORMATS, RAW) if schema else tuple(FORMATS))
        for add in (*formats, *_TYPE_OPTIONS, *(_SCHEMA_OPTIONS if schema else ())):
            add(with_forms)
        return with_forms

    return decorate


FORMATS: Final = ("AVRO", "JSON_SR", "PROTOBUF")
"""Formats whose schemas are in a registry."""
RAW: Final = "RAW"
"""The name for bytes that are not decoded by a registry."""

Add = Callable[[Callable[..., object]], Callable[..., object]]


def _format_options(names: tuple[str, ...]) -> tuple[Add, ...]:
    told = ""
    if RAW in names:
        told = f" {RAW}: do not decode. Default: detected."
    return tuple(
        click.option(
            f"--{part}-format",
            type=click.Choice(names, case_sensitive=False),
            help=f"Format of the {part}s, whose schemas are in the registry.{told}",
        )
        for part in reversed(_PARTS)
    )


_TYPE_OPTIONS: Final[tuple[Add, ...]] = (
    click.option(
        "--like",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Use the key and value types of the topology in this Python file, which must read or "
        "write the topic.",
    ),
    click.option(
        "-s",
        "packs",
        multiple=True,
        metavar="[key=|value=]PACK",
        help="kcat pack string: q is a BIGINT, i an INT, s the rest as text; < and > "
        "set the byte order.",
    ),
    click.option(
        "--value-type",
        type=click.Choice(TYPES, case_sensitive=False),
        help="Type of the values; the same types as for --key-type.",
    ),
    click.option(
        "--key-type",
        type=click.Choice(TYPES, case_sensitive=False),
        help="Type of the keys, in the encoding of Kafka's serializers.  [default: string]",
    ),
)
_SCHEMA_OPTIONS: Final[tuple[Add, ...]] = (
    click.option(
        "--key-window",
        metavar=f"SIZE|{SESSION}",
        help="Keys end with a window of this size (such as 1h) or of a session, shown as "
        "(key, start, end).",
    ),
    click.option(
        "--key",
        "key_schema",
        metavar="SCHEMA",
        help="Columns of the key, declared as in a topology: 'id BIGINT'.",
    ),
)


def form_of_schema(text: str) -> FieldForm:
    """Return the form of a key declared as `id BIGINT` or just `BIGINT`.

    Raises:
        click.BadParameter: the text declares no columns.
    """
    try:
        columns = (
            (Column("key", parse_type(text)),) if len(text.split()) == 1 else parse_columns(text)
        )
    except StatementError as error:
        raise click.BadParameter(
            f'--key "{text}": {error.message}. {error.detail}'.strip()
        ) from None
    if not columns:
        raise click.BadParameter("--key is empty; write for example --key 'id BIGINT'")
    return form_of_columns(columns)


def _of_pack(text: str) -> list[tuple[str, FieldForm]]:
    part, equals, pack = text.partition("=")
    if not equals:
        part, pack = "", text
    elif part not in _PARTS:
        raise click.BadParameter(f'-s {text}: "{part}" must be key or value')
    try:
        form = form_of_pack(pack)
    except ValueError as error:
        raise click.BadParameter(f"-s {text}: {error}") from None
    return [(name, form) for name in ([part] if part else _PARTS)]


def _size_ms(text: str) -> int | None:
    if text == SESSION:
        return None
    try:
        return read_duration(text)
    except ValueError as error:
        raise click.BadParameter(f"--key-window: {error}, or {SESSION}") from None
