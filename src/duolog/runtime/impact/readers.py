"""Queries, streams, tables and topologies that read a topic, and the columns that they use.

    CREATE STREAM s …             reads the topic with all of its columns
    CREATE TABLE t AS SELECT …    reads s with the columns that its plan needs
    CREATE STREAM u AS … FROM t   reads t: if the query of t breaks, so does this one

A stream or table breaks if one of its columns does: SELECT * reads all of them. A query breaks only
if it needs the column.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from duolog.core.types import Column
from duolog.engine.lowering.nodes.required import required_columns
from duolog.ksql.catalog.catalog import SourceInfo, SqlColumn, SqlFormat
from duolog.ksql.statements.state import SessionState
from duolog.plan.expressions import column_names
from duolog.plan.formats import BARE, MESSAGE, SINGLE, Format
from duolog.plan.nodes import Plan
from duolog.plan.nodes.topics import Source
from duolog.runtime.impact.columns import column_reasons
from duolog.runtime.impact.report import Finding, Reason, Verdict, breaks_or_safe
from duolog.schemas.schema import Language, Schema

_LANGUAGE_OF: dict[str, Language] = {
    "AVRO": Language.AVRO,
    "JSON_SR": Language.JSON,
    "PROTOBUF": Language.PROTOBUF,
}


@dataclass(frozen=True, slots=True)
class Part:
    """The keys or the values of a topic."""

    topic: str
    is_key: bool


def sql_findings(
    state: SessionState, service: str, parts: Iterable[Part], schema: Schema
) -> Iterator[Finding]:
    """Yield the verdicts about the streams, tables and queries of an SQL engine."""
    parts = tuple(parts)
    affected: dict[str, Part] = {}
    for source in state.catalog.sources.values():
        part = next((one for one in parts if _reads(source, one)), None)
        if part is None:
            continue
        affected[source.name] = part
        reasons = _source_reasons(source, part, schema)
        kind: Literal["table", "stream"] = "table" if source.kind == "TABLE" else "stream"
        yield Finding(kind, source.name, part.topic, breaks_or_safe(reasons), reasons, service)
    yield from _query_findings(state, service, affected, schema)


def _query_findings(
    state: SessionState, service: str, affected: Mapping[str, Part], schema: Schema
) -> Iterator[Finding]:
    found: dict[str, Finding] = {}
    for query in state.queries.values():
        for source in query.planned.sources:
            part = affected.get(source.name)
            if part is None:
                continue
            reasons = plan_reasons(query.planned.plan, part, schema)
            before = found[query.id].reasons if query.id in found else ()
            every = tuple(dict.fromkeys((*before, *reasons)))
            found[query.id] = Finding(
                "query", query.id, source.name, breaks_or_safe(every), every, service
            )
    _add_downstream(state, service, found)
    yield from found.values()


def _add_downstream(state: SessionState, service: str, found: dict[str, Finding]) -> None:
    """Add the queries that read what a broken query writes, directly or through others."""
    broken = {state.queries[name].sink: name for name, one in found.items() if _breaks(one)}
    while broken:
        following: dict[str, str] = {}
        for query in state.queries.values():
            upstream = next((name for name in query.reads if name in broken), None)
            known = found.get(query.id)
            if upstream is None or (known is not None and _breaks(known)):
                continue
            reason = Reason(f"it reads {upstream}, which query {broken[upstream]} writes", upstream)
            found[query.id] = Finding(
                "query", query.id, upstream, Verdict.BREAKS, (reason,), service
            )
            following[query.sink] = query.id
        broken = following


def _breaks(finding: Finding) -> bool:
    return finding.verdict is Verdict.BREAKS


def plan_reasons(plan: Plan, part: Part, schema: Schema) -> tuple[Reason, ...]:
    """Return why a plan cannot read the records of a topic that are written with a schema."""
    required = required_columns(plan)
    reasons: list[Reason] = []
    for source in plan.sources:
        if not source.reads_topic(part.topic):
            continue
        needed = required[source] | _read_by(source)
        columns = source.schema.inner_key if part.is_key else source.schema.value
        read = source.key_format if part.is_key else source.value_format
        reasons += _reasons(read, columns, needed, schema, is_key=part.is_key)
    return tuple(dict.fromkeys(reasons))


def reads_part(plan: Plan, part: Part) -> bool:
    """Say whether a plan reads a topic in a format of a registry."""
    formats = (
        source.key_format if part.is_key else source.value_format
        for source in plan.sources
        if source.reads_topic(part.topic)
    )
    return any(one.name in _LANGUAGE_OF for one in formats)


def _read_by(source: Source) -> frozenset[str]:
    """Return the columns that a source reads itself: its timestamp."""
    return frozenset() if source.times.of is None else column_names(source.times.of)


def _reasons(
    read: Format,
    columns: tuple[Column, ...],
    needed: Container[str],
    schema: Schema,
    *,
    is_key: bool,
) -> tuple[Reason, ...]:
    language = _LANGUAGE_OF.get(read.name)
    if language is None:
        return ()
    if language is not schema.language:
        return (Reason(f"it reads {read.name}, and the schema is {schema.language.value}"),)
    single = len(columns) == 1 and language is not Language.PROTOBUF
    bare = single and (is_key or read.option(SINGLE) == BARE)
    message = read.option(MESSAGE)
    return column_reasons(schema, columns, needed=needed, bare=bare, message=message)


def _reads(source: SourceInfo, part: Part) -> bool:
    of = source.key_format if part.is_key else source.value_format
    return bool(source.topics_among([part.topic])) and of.name in _LANGUAGE_OF


def _source_reasons(source: SourceInfo, part: Part, schema: Schema) -> tuple[Reason, ...]:
    of = source.key_format if part.is_key else source.value_format
    columns = source.key if part.is_key else source.value
    names = {one.name for one in columns}
    return _reasons(_format(of, columns), _columns(columns), names, schema, is_key=part.is_key)


def _columns(columns: Iterable[SqlColumn]) -> tuple[Column, ...]:
    return tuple(Column(one.name, one.type) for one in columns)


def _format(of: SqlFormat, columns: tuple[SqlColumn, ...]) -> Format:
    options = []
    if of.wrap is False and len(columns) == 1 and of.name != "PROTOBUF":
        options.append((SINGLE, BARE))
    if of.name == "PROTOBUF" and (name := dict(of.properties).get("fullSchemaName")):
        options.append((MESSAGE, name))
    return Format(of.name, tuple(options))


def topology_findings(
    plans: Mapping[str, Plan], parts: Iterable[Part], schema: Schema
) -> Iterator[Finding]:
    """Yield the verdicts about topologies by name, whose plans are known."""
    parts = tuple(parts)
    for name, plan in plans.items():
        for part in parts:
            if reads_part(plan, part):
                reasons = plan_reasons(plan, part, schema)
                yield Finding("topology", name, part.topic, breaks_or_safe(reasons), reasons)
