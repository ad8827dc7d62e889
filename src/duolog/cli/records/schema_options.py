"""Options that name the schemas with which `duolog produce` writes keys and values.

--value-format AVRO                         the last version of the subject TOPIC-value
--value-schema-id 7                         the schema of this id
--schema order.avsc                         this schema, which the subject must have
--schema order.avsc --register              this schema, registered if it is new
"""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Final, NamedTuple

import click

from duolog.cli.records.field_forms import PLAIN, FieldForm, Forms
from duolog.cli.records.form_options import FormOptions
from duolog.cli.records.schema_form import LANGUAGES
from duolog.cli.registry.options import RegistryAddress
from duolog.cli.registry.refusals import refusals
from duolog.cli.registry.schema_files import LATEST, read_schema
from duolog.core.errors import RegistryError
from duolog.registry.client.admin import RegistryAdmin
from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.source import SchemaText, UnknownSchemaError

_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)


class SchemaOptions(NamedTuple):
    """The schemas that the options name; None if they name none."""

    value_file: Path | None
    key_file: Path | None
    value_id: str | None
    key_id: str | None
    references: tuple[str, ...]
    register: bool

    def forms_of(self, topic: str, options: FormOptions, registry: RegistryAddress | None) -> Forms:
        """Return the forms that write the keys and values of a topic.

        Raises:
            click.UsageError: two options contradict each other, or no registry is known.
            RegistryError: the registry has no such schema, or refuses it.
        """
        given = options.forms_of(topic)
        key = _Wanted("key", topic, options.key_format, self.key_file, self.key_id)
        value = _Wanted("value", topic, options.value_format, self.value_file, self.value_id)
        if self.register and not (self.key_file or self.value_file):
            raise click.UsageError("Use --register with --schema or --key-schema.")
        if not (key.is_given or value.is_given):
            return given
        if registry is None:
            raise click.UsageError("Name the schema registry with --registry.")
        forms = (
            self._form(part, form, registry)
            for part, form in ((key, given.key), (value, given.value))
        )
        return Forms(*forms)

    def _form(self, wanted: "_Wanted", given: FieldForm, registry: RegistryAddress) -> FieldForm:
        if not wanted.is_given:
            return given
        if given is not PLAIN:
            raise click.UsageError(
                f"several options specify the form of the {wanted.part}s; use only one"
            )
        from duolog.cli.records.record_schemas import writing_form  # noqa: PLC0415 - loads the formats

        admin = registry.admin()
        references = self.references if wanted.part == "value" else ()
        schema_id, text = wanted.schema(admin, references, register=self.register)
        wanted.ensure_format(text, schema_id)
        try:
            return writing_form(admin.resolved(text), schema_id, registry.source())
        except InvalidSchemaError as error:
            raise RegistryError(
                f"cannot write {wanted.part}s with the schema of id {schema_id}",
                detail=error.message,
            ) from error


class _Wanted(NamedTuple):
    """The options of the keys or of the values."""

    part: str
    topic: str
    format_name: str | None
    file: Path | None
    schema_id: str | None

    @property
    def is_given(self) -> bool:
        return any(one is not None for one in (self.format_name, self.file, self.schema_id))

    @property
    def subject(self) -> str:
        return f"{self.topic}-{self.part}"

    def schema(
        self, admin: RegistryAdmin, references: tuple[str, ...], *, register: bool
    ) -> tuple[int, SchemaText]:
        """Return the schema to write with, and its id."""
        if self.file is not None and self.schema_id is not None:
            raise click.UsageError(
                f"Name the schema of the {self.part}s by file or by id, not both."
            )
        if self.file is not None:
            return self._of_file(admin, references, self.file, register=register)
        if self.schema_id not in {None, LATEST}:
            number = int(self.schema_id or "")
            with refusals(f"find the schema of id {number}"):
                return number, admin.by_id(number)[0]
        with refusals(f'find the schema of the {self.part}s of topic "{self.topic}"', self._hint):
            found = admin.version(self.subject)
        return found.schema_id, found.schema

    def _of_file(
        self, admin: RegistryAdmin, references: tuple[str, ...], file: Path, *, register: bool
    ) -> tuple[int, SchemaText]:
        language = None if self.format_name is None else LANGUAGES[self.format_name].value
        with refusals(f'register the schema in "{file}" for subject "{self.subject}"'):
            text = read_schema(file, language, references, admin)
            if register:
                return admin.register(self.subject, text), text
            found = admin.look_up(self.subject, text)
        if found is None:
            raise UnknownSchemaError(
                f'subject "{self.subject}" does not have the schema in "{file}"',
                hint="Add --register to register it.",
            )
        return found.schema_id, text

    def _hint(self, code: int) -> str:
        if code // 100 != 404:
            return ""
        option = "--schema" if self.part == "value" else "--key-schema"
        return f"Name a file with {option} FILE --register, or an id with --{self.part}-schema-id."

    def ensure_format(self, text: SchemaText, schema_id: int) -> None:
        """Refuse a schema that is not of the format that the user names."""
        if self.format_name is None or LANGUAGES[self.format_name] == text.language:
            return
        raise click.UsageError(
            f"--{self.part}-format {self.format_name}: the schema of id {schema_id} is "
            f"{text.language.value}"
        )


def schema_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add the options of schemas to a command, passed to it as `schemas`."""

    @click.option(
        "--schema",
        "value_file",
        type=_FILE,
        metavar="FILE",
        help="Schema of the values (.avsc, .proto or .json), which subject TOPIC-value must have.",
    )
    @click.option(
        "--key-schema",
        "key_file",
        type=_FILE,
        metavar="FILE",
        help="Schema of the keys, which subject TOPIC-key must have.",
    )
    @click.option(
        "--value-schema-id",
        "value_id",
        metavar=f"N|{LATEST}",
        callback=_read_id,
        help="Schema of the values by its id. Default with --value-format: the latest of the "
        "subject.",
    )
    @click.option(
        "--key-schema-id",
        "key_id",
        metavar=f"N|{LATEST}",
        callback=_read_id,
        help="Schema of the keys by its id.",
    )
    @click.option(
        "--reference",
        "references",
        multiple=True,
        metavar="NAME=SUBJECT[:VERSION]",
        help="A schema that --schema refers to. Repeatable.",
    )
    @click.option("--register", is_flag=True, help="Register the schemas of files if they are new.")
    @wraps(command)
    def with_schemas(
        *,
        value_file: Path | None,
        key_file: Path | None,
        value_id: str | None,
        key_id: str | None,
        references: tuple[str, ...],
        register: bool,
        **options: object,
    ) -> object:
        schemas = SchemaOptions(value_file, key_file, value_id, key_id, references, register)
        return command(schemas=schemas, **options)

    return with_schemas


def _read_id(_context: click.Context, _parameter: click.Parameter, given: str | None) -> str | None:
    if given is None or given == LATEST or (given.isdecimal() and 0 < int(given) < 2**31):
        return given
    raise click.BadParameter(f'"{given}" is neither the id of a schema nor {LATEST}')
