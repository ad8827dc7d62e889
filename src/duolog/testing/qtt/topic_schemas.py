"""The schema registry of a case: the schemas of its topics, and the conversion of its values.

Topics get their schemas before the first statement, in the order in which ksqlDB's runner visits
them; statements name some of the ids. A value of a case is converted by the schema of its topic,
whose columns need not be those of the stream.

The registry accepts every version (compatibility NONE). The description of that runner names a mock
of a registry and no check. Among the 344 cases of the half for building that have such a format,
one depends on it: with BACKWARD, "protobuf.json - specify a protobuf schema name with
SCHEMA_FULL_NAME" is refused, because its topic has the field `float c1`, for which ksqlDB registers
`double c1`. All others have the same outcome under NONE and BACKWARD.

Source: ksqlDB's own runner, as described next to the cases.
"""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import count
from typing import Final

from sqlglot import exp

from duolog.core.types import Column, Type
from duolog.ksql import settings
from duolog.ksql.catalog.catalog import SqlColumn, SqlFormat
from duolog.ksql.catalog.format_support import Part
from duolog.ksql.catalog.formats import plan_format
from duolog.ksql.catalog.properties import Properties
from duolog.ksql.catalog.schemas import LANGUAGES
from duolog.ksql.catalog.subjects import subject_of
from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.ksql.syntax import nodes
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.columns import fields_of, type_of
from duolog.schemas.languages import parse
from duolog.schemas.protobuf import ProtobufSchema, decode_indexes
from duolog.schemas.schema import Language, Reference
from duolog.schemas.source import SchemaText, provide, withdraw
from duolog.serde.serde import Serde, value_serde
from duolog.serde.wire_format import unframed
from duolog.testing.qtt.cases import Case, JsonObject
from duolog.testing.qtt.json_values import dumps, from_spec, to_spec

_NUMBERS: Final = count()
_LANGUAGES: Final = {
    "AVRO": Language.AVRO,
    "JSON": Language.JSON,
    "JSON_SR": Language.JSON,
    "PROTOBUF": Language.PROTOBUF,
}
_SINGLE: Final = "VALUE"
_BUCKETS: Final = 16
_FULL: Final = 0.75


class TopicSchemas:
    """A registry with the schemas of a case's topics; `close` it after the case.

    Attributes:
        address: its address, for the setting `ksql.schema.registry.url`.
    """

    def __init__(self, case: Case, given: dict[str, str]) -> None:
        self.address = f"mock://qtt-{next(_NUMBERS)}"
        self._registry = InProcessRegistry()
        self._registry.set_compatibility("NONE")
        provide(self.address, self._registry)
        self._writers: dict[str, tuple[Serde, tuple[Column, ...], bool]] = {}
        self._readers: dict[tuple[int, str | None], tuple[Serde, tuple[Column, ...], bool]] = {}
        self._register(case, given | {settings.REGISTRY: self.address})

    def close(self) -> None:
        """Forget the registry."""
        withdraw(self.address)

    def encode(self, of: SqlFormat, topic: str, part: Part, value: object) -> bytes | None:
        """Return the bytes of a case's value by the last schema of its topic."""
        subject = subject_of(topic, part)
        if subject not in self._writers:
            latest = self._registry.latest(subject)
            if latest is None:
                raise NotImplementedError(f"no schema is registered for subject {subject}")
            self._writers[subject] = self._codec(
                of.name, latest.schema_id, dict(of.properties).get("fullSchemaName")
            )
        serde, columns, bare = self._writers[subject]
        if bare:
            return serde.serialize((from_spec(value, columns[0].type),))
        given = {name.upper(): one for name, one in _object(value).items()} | _object(value)
        return serde.serialize(
            tuple(
                from_spec(given.get(column.name, given.get(column.name.upper())), column.type)
                for column in columns
            )
        )

    def decode(self, of: SqlFormat, data: bytes) -> object:
        """Return the value of bytes as cases have it."""
        schema_id, payload = unframed(data)
        assert isinstance(schema_id, int), schema_id
        name = None
        if of.name == "PROTOBUF":
            schema = self._registry.by_id(schema_id)
            assert isinstance(schema, ProtobufSchema), schema
            name = schema.message_name(decode_indexes(payload)[0])
        if (schema_id, name) not in self._readers:
            self._readers[schema_id, name] = self._codec(of.name, schema_id, name)
        serde, columns, bare = self._readers[schema_id, name]
        row = serde.deserialize(data)
        if row is None or bare:
            return None if row is None else to_spec(row[0], columns[0].type)
        return {
            column.name: to_spec(value, column.type)
            for column, value in zip(columns, row, strict=True)
        }

    def compared(self, subject: str, wanted: object, format_name: str) -> tuple[object, object]:
        """Return the last schema of a subject and an expected one, in a form to compare."""
        language = LANGUAGES[format_name]
        latest = self._registry.latest(subject)
        found = None if latest is None else _comparable(latest.schema.text, language)
        return found, _comparable(_text(wanted, language), language)

    def _codec(
        self, format_name: str, schema_id: int, name: str | None
    ) -> tuple[Serde, tuple[Column, ...], bool]:
        schema = self._registry.by_id(schema_id)
        of: Type = type_of(schema, upper=False, name=name if format_name == "PROTOBUF" else None)
        fields = fields_of(of)
        columns = fields or (Column(_SINGLE, of),)
        options = {
            "id": str(schema_id),
            "registry": self.address,
            "schema": schema.formatted("resolved"),
        }
        if not fields:
            options["single"] = "bare"
        if format_name == "PROTOBUF" and name is not None:
            options["message"] = name
        return value_serde(format_name, columns, tuple(options.items())), columns, not fields

    def _register(self, case: Case, given: dict[str, str]) -> None:
        topics = {
            topic["name"]: topic
            for topic in case.spec.get("topics") or ()
            if isinstance(topic, dict)
        }
        session = SqlSession(given=given, of_tests=False)
        declared = _declared(session, case)
        for name in java_order([*topics, *(name for name in declared if name not in topics)]):
            if name in topics:
                for part in ("key", "value"):
                    self._register_part(topics[name], part)
            else:
                with suppress(SqlError):
                    session.execute(*declared[name])

    def _register_part(self, topic: JsonObject, part: str) -> None:
        schema = topic.get(f"{part}Schema")
        language = _LANGUAGES.get(topic.get(f"{part}Format") or "AVRO")
        if schema is None or language is None:
            return
        schema_id = topic.get(f"{part}SchemaId")
        references = []
        for number, given in enumerate(topic.get(f"{part}SchemaReferences") or (), 1):
            # The ids of cases do not count what a schema refers to.
            if schema_id is None:
                schema_id = self._highest_id() + 1
            references.append(self._registered_reference(given, schema_id + number))
        self._registry.register(
            f"{topic['name']}-{part}",
            SchemaText(language, _text(schema, language), tuple(references)),
            schema_id=schema_id,
        )

    def _registered_reference(self, given: JsonObject, schema_id: int) -> Reference:
        name, language = given["name"], _LANGUAGES[given.get("format") or "AVRO"]
        text = SchemaText(language, _text(given["schema"], language))
        if self._registry.id_of(name, text) is None:
            self._registry.register(name, text, schema_id=schema_id)
        return Reference(name, name, 1)

    def _highest_id(self) -> int:
        return max((found.id for found in self._registry.rules.schemas()), default=0)


def _comparable(text: str, language: Language) -> object:
    """Return a schema without the layout of its text."""
    canonical = parse(language, text, {}, strict=False).canonical
    return canonical if language == Language.PROTOBUF else json.loads(canonical)


def _text(schema: object, language: Language) -> str:
    if language == Language.PROTOBUF and isinstance(schema, str):
        return schema
    return dumps(schema)


def _object(value: object) -> JsonObject:
    if not isinstance(value, dict):
        raise NotImplementedError(f"the value {value!r} is not an object")
    return value


def _declared(session: SqlSession, case: Case) -> dict[str, tuple[exp.Expression, str]]:
    """Return the statements that declare columns of a topic, by topic; create their types."""
    found: dict[str, tuple[exp.Expression, str]] = {}
    with suppress(SqlError):
        for node, text in session.read("\n".join(case.statements)):
            if isinstance(node, nodes.CreateType):
                session.execute(node, text)
            is_source = isinstance(node, nodes.CreateSource) and not node.args.get("expression")
            if is_source and node.args.get("elements"):
                topic = Properties(node.args.get("properties")).topic()
                if topic is not None:
                    found.setdefault(topic, (node, text))
    return found


def java_order(names: Iterable[str]) -> list[str]:
    """Return names in the order in which a HashMap of Java visits them.

    Example:
        >>> java_order(["OUTPUT", "input"])
        ['input', 'OUTPUT']
    """
    listed = list(names)
    buckets = _BUCKETS
    while len(listed) > buckets * _FULL:
        buckets *= 2
    return sorted(listed, key=lambda name: _hash(name) & (buckets - 1))


def _hash(text: str) -> int:
    found = 0
    for character in text:
        found = (31 * found + ord(character)) & 0xFFFFFFFF
    return found ^ (found >> 16)


def plain_encode(of: SqlFormat, columns: Sequence[SqlColumn], value: object) -> bytes | None:
    """Return the bytes of a case's value in PROTOBUF_NOSR."""
    serde, typed = _plain(of, columns)
    given = {name.upper(): one for name, one in _object(value).items()}
    return serde.serialize(
        tuple(from_spec(given.get(column.name.upper()), column.type) for column in typed)
    )


def plain_decode(of: SqlFormat, columns: Sequence[SqlColumn], data: bytes) -> object:
    """Return the value of bytes in PROTOBUF_NOSR as cases have it."""
    serde, typed = _plain(of, columns)
    row = serde.deserialize(data)
    assert row is not None, data
    return {
        column.name: to_spec(value, column.type) for column, value in zip(typed, row, strict=True)
    }


def _plain(of: SqlFormat, columns: Sequence[SqlColumn]) -> tuple[Serde, tuple[Column, ...]]:
    typed = tuple(Column(column.name, column.type) for column in columns)
    form = plan_format(of)
    return value_serde(form.name, typed, form.options), typed
