"""Find the schemas of topics in the schema registry, and register those of streams and tables.

    declared columns                 registered, unless the subject has a schema
    no columns, and a registry has   the columns are those of the latest schema, or of the one that
    the topic's schema               KEY_SCHEMA_ID or VALUE_SCHEMA_ID names
    the result of a query            registered; an incompatible one is an error

The subject of a topic's keys is `<topic>-key`, that of its values `<topic>-value`, unless a
setting names them otherwise; see `subjects.py`.

Source: ksqlDB's documentation of schema inference; the messages are those that its users search
for.
"""

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Final, TypeVar

from duolog.core.errors import RegistryError
from duolog.ksql import settings
from duolog.ksql.catalog.catalog import Registered, Role, SourceInfo, SqlColumn, SqlFormat
from duolog.ksql.catalog.format_support import SUPPORT, Part
from duolog.ksql.catalog.formats import registry_missing
from duolog.ksql.catalog.kept_schemas import kept_or_found, replays
from duolog.ksql.catalog.subjects import FULL_NAME, chosen_subject, subject_of
from duolog.ksql.errors import SqlError
from duolog.ksql.settings import Settings
from duolog.plan.types import Column
from duolog.schemas import columns as of_schemas
from duolog.schemas.languages import parse
from duolog.schemas.schema import Language, Schema
from duolog.schemas.source import SchemaSource, SchemaText, source_at

T = TypeVar("T")

LANGUAGES: Final = {
    "AVRO": Language.AVRO,
    "JSON_SR": Language.JSON,
    "PROTOBUF": Language.PROTOBUF,
}
"""Language of the schemas of each format whose columns can be inferred."""
_FORMATS: Final = {Language.AVRO: "AVRO", Language.JSON: "JSON_SR", Language.PROTOBUF: "PROTOBUF"}
_SINGLE: Final = {"Key": "ROWKEY", "Value": "ROWVAL"}
"""Name of the column that is inferred from a schema without fields."""
_ID: Final = "schemaId"
_SOURCE_AT: Final[ContextVar[Callable[[str], SchemaSource]]] = ContextVar(
    "registry of an address", default=source_at
)
_NULLABLE: Final = "nullableRepresentation"


@contextlib.contextmanager
def registries_replaced(source_at: Callable[[str], SchemaSource]) -> Iterator[None]:
    """Use other registries for the statements that this thread runs inside the block.

    A statement that is only checked must not register schemas.
    """
    before = _SOURCE_AT.set(source_at)
    try:
        yield
    finally:
        _SOURCE_AT.reset(before)


def registry_in_force(address: str) -> SchemaSource:
    """Return the registry that statements of this thread use for an address.

    Raises:
        RegistryError: no source is known for the address.
    """
    return _SOURCE_AT.get()(address)


class TopicSchemas:
    """The schemas of topics in the registry of a session.

    Raises:
        SqlError: the session has no registry.
    """

    def __init__(self, given: Settings, of: SqlFormat) -> None:
        address = given[settings.REGISTRY]
        if address is None:
            raise registry_missing(of)
        self._address = address
        self._given = given
        self._strict = given.strict

    def inferred(
        self, part: Part, of: SqlFormat, topic: str
    ) -> tuple[SqlFormat, tuple[SqlColumn, ...]]:
        """Return the columns that the schema of a topic describes, and the format to write them.

        A value whose schema is not a record has no record around it, unless the statement says so.

        Raises:
            SqlError: there is no schema, or columns cannot have its types.
        """
        found, columns = kept_or_found(lambda: self._inferred(part, of, topic), of, self._address)
        single = len(columns) == 1 and columns[0].name == _SINGLE["Value"]
        if part == "Value" and single and of.wrap is None and not self._strict:
            assert found.registered is not None, found
            schema = parse(LANGUAGES[of.name], found.registered.text, {}, strict=False)
            if of_schemas.fields_of(of_schemas.type_of(schema)) is None:
                found = replace(found, wrap=False)
        return found, columns

    def _inferred(
        self, part: Part, of: SqlFormat, topic: str
    ) -> tuple[SqlFormat, tuple[SqlColumn, ...]]:
        schema_id = _schema_id(of)
        found_id, schema = self._found(part, of, topic, schema_id)
        language = LANGUAGES[of.name]
        if schema.language != language:
            raise SqlError(
                f"{part} schema is not in the expected format. You may want to set "
                f"{part.upper()}_FORMAT to '{_FORMATS[schema.language]}'."
            )
        try:
            name = dict(of.properties).get(FULL_NAME) if of.name == "PROTOBUF" else None
            found = of_schemas.type_of(schema, upper=schema_id is None, name=name)
        except RegistryError as error:
            raise SqlError(
                f"Unable to verify if the {part.lower()} schema for topic: {topic} is compatible "
                f"with ksqlDB.\nReason: {error.message}"
            ) from error
        if of_schemas.fields_of(found) == ():
            raise SqlError(
                "The statement does not define any columns.",
                detail=f"The {part.lower()} schema of topic {topic} has no fields.",
                hint="Declare the columns.",
            )
        fields = None if _is_single(part, of) else of_schemas.fields_of(found)
        role: Role = "KEY" if part == "Key" else "VALUE"
        columns = fields or (Column(_SINGLE[part], found),)
        # What is written must fit the schema that the columns come from.
        text = schema.formatted("resolved") if of.name == "AVRO" else schema.canonical
        registered = Registered(self._address, found_id, text)
        return (
            replace(of, registered=registered),
            tuple(SqlColumn(name, kind, role) for name, kind in columns),
        )

    def declared(
        self, part: Part, of: SqlFormat, topic: str, columns: Sequence[SqlColumn], name: str
    ) -> SqlFormat:
        """Return the format of declared columns; register their schema if the topic has none.

        Raises:
            SqlError: the registry refuses the schema.
        """

        def find() -> tuple[SqlFormat, tuple[SqlColumn, ...]]:
            subject = chosen_subject(
                self._given, part, of, topic, lambda: schema_of_columns(part, of, columns, name)
            )
            latest = self._asked(lambda source: source.latest(subject), topic, "read")
            if latest is None:
                return self._written(part, of, topic, columns, name), ()
            return self.read(of), ()

        return kept_or_found(find, of, self._address)[0]

    def read(self, of: SqlFormat) -> SqlFormat:
        """Return the format of a topic that is only read."""
        return replace(of, registered=Registered(self._address))

    def written(
        self, part: Part, of: SqlFormat, topic: str, columns: Sequence[SqlColumn], name: str
    ) -> SqlFormat:
        """Return the format with the schema to write columns with, which is registered.

        Args:
            part: key or value.
            of: the format.
            topic: the topic that is written.
            columns: the columns.
            name: the stream or table, after which the record of a key is named.

        Raises:
            SqlError: the registry refuses the schema, or the schema that the statement names has
                other columns.
        """
        return kept_or_found(
            lambda: (self._written(part, of, topic, columns, name), ()), of, self._address
        )[0]

    def _written(
        self, part: Part, of: SqlFormat, topic: str, columns: Sequence[SqlColumn], name: str
    ) -> SqlFormat:
        schema_id = _schema_id(of)
        if schema_id is not None:
            return self._with_id(part, of, schema_id, topic, columns)
        schema = schema_of_columns(part, of, columns, name)
        subject = chosen_subject(self._given, part, of, topic, lambda: schema)
        found = self._asked(lambda source: source.register(subject, schema), topic, "register")
        return replace(of, registered=Registered(self._address, found, schema.text))

    def ensure_addable(self, source: SourceInfo, added: Sequence[SqlColumn]) -> None:
        """Refuse columns without which rows can be written, and with which they cannot.

        If the topic's last schema has the columns, others write them, and they can be read.

        Args:
            source: the stream or table with the columns.
            added: the columns.

        Raises:
            SqlError: the registry does not accept the schema with the columns.
        """
        of, topic = source.value_format, source.topic
        if _schema_id(of) is not None:
            return
        schema = schema_of_columns("Value", of, source.value, source.name)
        subject = chosen_subject(self._given, "Value", of, topic, lambda: schema)
        latest = self._asked(lambda registry: registry.latest(subject), topic, "read")
        if latest is None or {one.name.upper() for one in added} <= self._names(latest.schema_id):
            return
        reasons = self._asked(lambda registry: registry.check(subject, schema), topic, "check")
        if reasons:
            listed = ", ".join(f"`{one.name}`" for one in added)
            raise SqlError(
                f"Cannot add column {listed} to {source.name}: the schema registry does not accept "
                f'it in the next version of subject "{subject}"',
                detail=f"{reasons[0].rstrip('.')}.",
                hint="Allow it by another compatibility level: duolog schema config "
                f"{subject} --compatibility NONE.",
            )

    def _names(self, schema_id: int) -> set[str]:
        try:
            found = of_schemas.type_of(_SOURCE_AT.get()(self._address).by_id(schema_id))
        except RegistryError:
            return set()
        return {column.name.upper() for column in of_schemas.fields_of(found) or ()}

    def _with_id(
        self, part: Part, of: SqlFormat, schema_id: int, topic: str, columns: Sequence[SqlColumn]
    ) -> SqlFormat:
        found, there = self._inferred(part, of, topic)
        wanted = [(column.name, column.type) for column in columns]
        given = [(column.name, column.type) for column in there]
        # A single column without a record has no name in the schema; ksqlDB calls it ROWKEY.
        alone = len(there) == 1 and there[0].name == _SINGLE[part]
        if alone and len(wanted) == 1 and _is_single(part, of) and not self._strict:
            given = [(wanted[0][0], given[0][1])]
        changed = [
            column
            for number, column in enumerate(columns)
            if number >= len(given) or wanted[number] != given[number]
        ]
        if changed:
            raise SqlError(
                f"The following {part.lower()} columns are changed, missing or reordered: "
                f"[{_listed(changed)}]. Schema from schema registry is [{_listed(there)}]"
            )
        return found

    def _found(
        self, part: Part, of: SqlFormat, topic: str, schema_id: int | None
    ) -> tuple[int, Schema]:
        if schema_id is None:
            subject = chosen_subject(self._given, part, of, topic)
            latest = self._asked(lambda source: source.latest(subject), topic, "read")
            if latest is None:
                raise _missing(part, topic, subject, None)
            schema_id = latest.schema_id
        try:
            source = _SOURCE_AT.get()(self._address)
            schema = source.by_id(schema_id)
        except RegistryError as error:
            raise _missing(part, topic, subject_of(topic, part), schema_id) from error
        return schema_id, schema

    def _asked(self, ask: Callable[[SchemaSource], T], topic: str, doing: str) -> T:
        try:
            return ask(_SOURCE_AT.get()(self._address))
        except RegistryError as error:
            raise SqlError(
                f"Could not {doing} schema for topic: {topic}\nReason: {error.message}",
                detail=error.detail,
                hint=error.hint,
            ) from error


def schema_of_columns(
    part: Part, of: SqlFormat, columns: Sequence[SqlColumn], name: str
) -> SchemaText:
    """Return the schema that columns make in a format.

    Raises:
        SqlError: the language of the schema cannot express a type.
    """
    given = dict(of.properties)
    avro_key = _key_name(name) if of.name == "AVRO" and part == "Key" else None
    null = (given.get(_NULLABLE) or "").lower()
    try:
        return of_schemas.text_of(
            LANGUAGES.get(of.name, Language.PROTOBUF),
            [Column(column.name, column.type) for column in columns],
            name=given.get(FULL_NAME) or avro_key,
            bare=len(columns) == 1 and _is_single(part, of),
            nullable="optional" if null == "optional" else "wrapper" if null else None,
        )
    except RegistryError as error:
        raise SqlError(
            f"{part} format does not support schema.\nformat: {of.name}\nreason: {error.message}",
            hint=error.hint,
        ) from error


def with_schemas(
    source: SourceInfo, given: Settings, *, declared: Collection[Part] = (), writes: bool = False
) -> SourceInfo:
    """Return a source whose formats know the schemas to write with, as far as they need any.

    Args:
        source: the stream or table.
        given: the settings of the session.
        declared: the parts whose columns a statement lists; the columns of the other parts are
            those of their schemas.
        writes: True if rows are written, so that the schemas must be in the registry.

    Raises:
        SqlError: there is no registry, or it refuses a schema.
    """

    def of(part: Part, form: SqlFormat, columns: Sequence[SqlColumn]) -> SqlFormat:
        if form.name == "PROTOBUF_NOSR" and columns:
            schema_of_columns(part, form, columns, source.name)
        known = form.registered is not None and (
            form.registered.schema_id is not None or not writes
        )
        if form.name not in LANGUAGES or not columns or known:
            return form
        schemas = TopicSchemas(given, form)
        if source.is_pattern:
            return schemas.read(form)
        if writes or part not in declared:
            return schemas.written(part, form, source.topic, columns, source.name)
        return schemas.declared(part, form, source.topic, columns, source.name)

    return replace(
        source,
        key_format=of("Key", source.key_format, source.key),
        value_format=of("Value", source.value_format, source.value),
    )


def with_added_columns(
    source: SourceInfo, added: tuple[SqlColumn, ...], given: Settings
) -> SourceInfo:
    """Return a source with more value columns; their schema is registered when rows are written.

    Args:
        source: the stream or table.
        added: the columns that are new.
        given: the settings of the session.

    Raises:
        SqlError: the registry would refuse the schema of the rows.
    """
    known = source.value_format.registered
    registered = None if known is None else Registered(known.address)
    value_format = replace(source.value_format, registered=registered)
    altered = replace(source, columns=source.columns + added, value_format=value_format)
    if known is not None and not source.is_pattern and not replays():
        TopicSchemas(given, value_format).ensure_addable(altered, added)
    return altered


def _schema_id(of: SqlFormat) -> int | None:
    given = dict(of.properties).get(_ID)
    return None if given is None else int(given)


def _is_single(part: Part, of: SqlFormat) -> bool:
    """Tell whether a single column has no record around it."""
    support = SUPPORT[of.name]
    if part == "Key":
        return support.wraps and support.unwraps
    return of.wrap is False


def _key_name(name: str) -> str:
    """Return the full name of the record that a key is.

    Example:
        >>> _key_name("FLIGHTS_BY_AIRLINE")
        'io.confluent.ksql.avro_schemas.FlightsByAirlineKey'
    """
    camel = "".join(word[:1].upper() + word[1:].lower() for word in name.split("_"))
    return f"io.confluent.ksql.avro_schemas.{camel}Key"


def _listed(columns: Sequence[SqlColumn]) -> str:
    return ", ".join(map(str, columns))


def _missing(part: Part, topic: str, subject: str, schema_id: int | None) -> SqlError:
    which = "" if schema_id is None else f"Schema Id: {schema_id}\n"
    return SqlError(
        f"Schema for message {part.lower()}s on topic '{topic}' does not exist in the Schema "
        f"Registry.\nSubject: {subject}\n{which}Possible causes include:\n"
        "- The topic itself does not exist\n\t-> Use SHOW TOPICS; to check\n"
        "- Messages on the topic are not serialized using a format Schema Registry supports\n\t-> "
        f"Use PRINT '{topic}' FROM BEGINNING; to verify\n"
        "- The schema is registered on a different instance of the Schema Registry\n\t-> Check "
        f"the setting {settings.REGISTRY}",
        hint="Declare the columns, or register a schema for the subject.",
    )
