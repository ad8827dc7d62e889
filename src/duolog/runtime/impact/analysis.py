"""Find all readers of a subject, and what a new schema does to each.

    subject ─► topics ─┬─► SQL engines: streams, tables, queries   by their catalogs
                       ├─► topologies                              by their plans, or unknown
                       ├─► consumer groups                         by the last version's readers
                       └─► last records                            read with the new schema

Two directions: a reader that runs meets records of the new schema, and a reader with the new schema
meets the records that are there. A consumer group is judged as a reader with the last version of
the schema, because a cluster does not know which schema its members have.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from duolog.core.errors import DuologError
from duolog.ksql.statements.state import SessionState
from duolog.plan.nodes import Plan
from duolog.runtime.impact.cluster import Cluster
from duolog.runtime.impact.readers import Part, sql_findings, topology_findings
from duolog.runtime.impact.records import RecordTrial, Tried
from duolog.runtime.impact.report import Finding, Reason, Report, Verdict
from duolog.schemas.schema import Schema
from duolog.schemas.source import SchemaSource
from duolog.schemas.subject_names import SubjectStrategy, strategy_of

if TYPE_CHECKING:
    from duolog.schemas.schema import Incompatibility

RECORDS: Final = 100
"""Number of records that are tried per topic by default."""
_COMMAND_TOPIC: Final = re.compile(r"_duolog-ksql-(.+)_command_topic")
_COMMITS: Final = "-commits"
_OWN_GROUP: Final = re.compile(r"_?duolog-ksql-.*")
_CONTEXT: Final = re.compile(r":\.[^:]*:")

Catalogs = Callable[[str], SessionState]
"""Returns the replayed catalog of an SQL engine, by its service id."""
Applications = Callable[[Iterable[str]], Mapping[str, tuple[str, ...]]]
"""Returns the applications whose commit topics are among some, with the topics that they read."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """The places in which readers are looked for.

    Attributes:
        cluster: the Kafka cluster.
        source: the registry.
        catalogs: reads the catalog of an SQL engine.
        applications: reads the topics of applications.
        plans: topologies whose plans are known, by name.
        files: catalogs of files of statements.
        records: number of records to try per topic.
    """

    cluster: Cluster
    source: SchemaSource
    catalogs: Catalogs
    applications: Applications
    plans: Mapping[str, Plan] = field(default_factory=dict)
    files: tuple[SessionState, ...] = ()
    records: int = RECORDS


def impact_of(subject: str, schema: Schema, analysis: Analysis) -> Report:
    """Return what a schema would break as the next version of a subject.

    Raises:
        KafkaError: the cluster does not answer.
        RegistryError: the registry does not answer.
    """
    there = analysis.cluster.topics()
    parts = tuple(_parts(subject, analysis.cluster, there))
    if not parts:
        note = f'no topic is known for subject "{subject}"'
        return Report(subject, (), notes=(note,))
    topics = tuple(part.topic for part in parts)
    notes: list[str] = []
    findings = [
        *_of_sql(parts, schema, analysis, there, notes),
        *_of_topologies(parts, schema, analysis, there, notes),
        *_of_groups(subject, topics, schema, analysis),
    ]
    tried = {part.topic: _tried(part, schema, analysis) for part in parts}
    return Report(
        subject,
        topics,
        tuple(findings),
        {topic: one.count for topic, one in tried.items()},
        tuple(record for one in tried.values() for record in one.broken),
        sum(one.unreadable for one in tried.values()),
        tuple(notes),
    )


def _parts(subject: str, cluster: Cluster, there: Mapping[str, int]) -> Iterator[Part]:
    """Yield the topics whose keys or values the subject describes, by the naming strategies."""
    name = _CONTEXT.sub("", subject, count=1)
    for suffix in ("-value", "-key"):
        topic = name.removesuffix(suffix)
        if name.endswith(suffix) and topic in there:
            yield Part(topic, is_key=suffix == "-key")
            return
    # The subject is named by a record: only the configs of topics say so.
    for topic, configs in sorted(cluster.configs(_visible(there)).items()):
        for is_key in (True, False):
            part = "key" if is_key else "value"
            strategy = strategy_of(configs.get(f"confluent.{part}.subject.name.strategy", ""))
            named = strategy is SubjectStrategy.RECORD_NAME or (
                strategy is SubjectStrategy.TOPIC_RECORD_NAME and name.startswith(f"{topic}-")
            )
            if named:
                yield Part(topic, is_key=is_key)


def _visible(there: Mapping[str, int]) -> list[str]:
    return [topic for topic in there if not topic.startswith("_")]


def _of_sql(
    parts: tuple[Part, ...],
    schema: Schema,
    analysis: Analysis,
    there: Mapping[str, int],
    notes: list[str],
) -> Iterator[Finding]:
    for state in analysis.files:
        yield from sql_findings(state, "", parts, schema)
    for name in sorted(there):
        found = _COMMAND_TOPIC.fullmatch(name)
        if found is None:
            continue
        service = found[1]
        try:
            state = analysis.catalogs(service)
        except DuologError as error:
            notes.append(f'SQL engine "{service}" cannot be inspected: {error.one_line()}')
            continue
        yield from sql_findings(state, service, parts, schema)


def _of_topologies(
    parts: tuple[Part, ...],
    schema: Schema,
    analysis: Analysis,
    there: Mapping[str, int],
    notes: list[str],
) -> Iterator[Finding]:
    yield from topology_findings(analysis.plans, parts, schema)
    commits = [name.removesuffix(_COMMITS) for name in there if name.endswith(_COMMITS)]
    try:
        applications = analysis.applications(commits)
    except DuologError as error:
        notes.append(f"applications cannot be inspected: {error.one_line()}")
        return
    for application, read in applications.items():
        mine = [part.topic for part in parts if part.topic in read]
        if mine and application not in analysis.plans:
            reason = Reason(
                "the cluster does not know which columns it reads; pass its file with --topology"
            )
            yield Finding("topology", application, mine[0], Verdict.UNKNOWN, (reason,))


def _of_groups(
    subject: str, topics: tuple[str, ...], schema: Schema, analysis: Analysis
) -> Iterator[Finding]:
    groups = analysis.cluster.groups(topics)
    if not groups:
        return
    verdict, reasons = _forward(subject, schema, analysis.source)
    for group, read in groups.items():
        if not _OWN_GROUP.fullmatch(group):
            yield Finding("group", group, ",".join(read), verdict, reasons)


def _forward(
    subject: str, schema: Schema, source: SchemaSource
) -> tuple[Verdict, tuple[Reason, ...]]:
    """Return whether a reader with the last version reads records of the new schema."""
    latest = source.latest(subject)
    if latest is None:
        return Verdict.UNKNOWN, (Reason("the subject has no version that its members could have"),)
    reader = source.by_id(latest.schema_id)
    if reader.language is not schema.language:
        text = f"version {latest.number} is {reader.language.value}, not {schema.language.value}"
        return Verdict.BREAKS, (Reason(text),)
    found = reader.incompatibilities(schema)
    if not found:
        return Verdict.SAFE, ()
    return Verdict.BREAKS, tuple(_reason(one, latest.number) for one in found)


def _reason(found: "Incompatibility", version: int) -> Reason:
    text = found.description.replace("{reader}", f"version {version}").replace("{writer}", "new")
    return Reason(text, found.kind)


def _tried(part: Part, schema: Schema, analysis: Analysis) -> Tried:
    records = analysis.cluster.last_records(part.topic, analysis.records)
    trial = RecordTrial(schema, analysis.source)
    return trial.read(part.topic, records, is_key=part.is_key)
