"""Run plans over topics in Protobuf on evaluators that read and write JSON.

    record in Protobuf ─▶ row ─▶ JSON ─▶ evaluator ─▶ JSON ─▶ row ─▶ record in Protobuf

The conversion is Python's own: the evaluator sees the values that `duolog.serde` reads.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from duolog.core.errors import QueryError, SerdeError
from duolog.plan.formats import BARE, DIALECT, KSQLDB, SINGLE, Format
from duolog.plan.nodes import Node, Plan, Sink
from duolog.plan.nodes.copies import copied
from duolog.plan.nodes.topics import Source
from duolog.serde.serde import Serde, key_serde, value_serde
from duolog.testing.reference import SinkRecord, SourceRecord

CONVERTED: Final = ("PROTOBUF", "PROTOBUF_NOSR")
"""The formats that are replaced by JSON."""
_Convert = Callable[[bytes | None], bytes | None]
_DAMAGED: Final = b"\0"
"""No JSON starts with this byte."""
_Part = tuple[_Convert, _Convert]
"""Conversions of a key and of a value."""


class SchemaEdges:
    """A plan with JSON in place of Protobuf.

    Attributes:
        plan: this plan; the given one if it has no such format.
    """

    def __init__(self, plan: Plan) -> None:
        given = [node for node in plan.nodes if isinstance(node, Source | Sink) and _has(node)]
        self._copies: dict[Node, Node] = {}
        self.plan = plan
        if given:
            self.plan, self._copies = copied(plan, _in_json)
        self._sources = [node for node in given if isinstance(node, Source)]
        self._read: dict[str, _Part | None] = {}
        self._written = {
            topic: _conversions(node, reads=False)
            for node in given
            if isinstance(node, Sink)
            for topic in node.topics
        }

    def node(self, of: Node) -> Node:
        """Return the node of the plan in JSON that stands for one of the given plan."""
        return self._copies.get(of, of)

    def taken(self, record: SourceRecord) -> SourceRecord:
        """Return a record as the plan in JSON reads it; what cannot be read is no JSON either."""
        if record.topic not in self._read:
            nodes = [node for node in self._sources if node.reads_topic(record.topic)]
            self._read[record.topic] = _conversions(nodes[0], reads=True) if nodes else None
        conversions = self._read[record.topic]
        if conversions is None:
            return record
        key, value = conversions
        return record._replace(
            key=_or_damaged(key, record.key), value=_or_damaged(value, record.value)
        )

    def given(self, records: Iterable[SinkRecord]) -> list[SinkRecord]:
        """Return records that the plan in JSON has written, in their own formats.

        Raises:
            QueryError: a row does not fit its schema.
        """
        try:
            return [self._given(record) for record in records]
        except SerdeError as error:
            raise QueryError(
                f"cannot serialize a record: {error.message}", detail=error.detail
            ) from error

    def _given(self, record: SinkRecord) -> SinkRecord:
        if record.topic not in self._written:
            return record
        key, value = self._written[record.topic]
        return record._replace(key=key(record.key), value=value(record.value))


def _or_damaged(convert: _Convert, data: bytes | None) -> bytes | None:
    try:
        return convert(data)
    except SerdeError:
        return _DAMAGED + (data or b"")


def _has(node: Source | Sink) -> bool:
    return node.key_format.name in CONVERTED or node.value_format.name in CONVERTED


def _json_for(of: Format) -> Format:
    if of.name not in CONVERTED:
        return of
    single = ((SINGLE, BARE),) if of.option(SINGLE) == BARE else ()
    return Format("JSON", ((DIALECT, KSQLDB), *single))


def _in_json(node: Node, values: dict[str, Any]) -> None:
    if isinstance(node, Source | Sink):
        values["key_format"] = _json_for(node.key_format)
        values["value_format"] = _json_for(node.value_format)


def _conversions(node: Source | Sink, *, reads: bool) -> _Part:
    schema = node.schema

    def key_of(of: Format) -> Serde:
        return key_serde(of.name, schema.key, schema.window, of.options)

    def value_of(of: Format) -> Serde:
        return value_serde(of.name, schema.value, of.options)

    return (
        _conversion(node.key_format, key_of, reads=reads),
        _conversion(node.value_format, value_of, reads=reads),
    )


def _same(data: bytes | None) -> bytes | None:
    return data


def _conversion(of: Format, serde: Callable[[Format], Serde], *, reads: bool) -> _Convert:
    if of.name not in CONVERTED:
        return _same
    schemas, json = serde(of), serde(_json_for(of))
    reader, writer = (schemas, json) if reads else (json, schemas)
    return lambda data: None if data is None else writer.serialize(reader.deserialize(data))
