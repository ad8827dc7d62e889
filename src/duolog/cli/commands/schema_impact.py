"""`duolog schema impact`: what a schema breaks before it is registered."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from duolog.cli.commands.schema_register import Read, schema_options
from duolog.cli.errors import CONFLICT
from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.connection import ensure_reachable
from duolog.cli.registry.options import RegistryAddress, registry_options
from duolog.cli.registry.refusals import refusals
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column
from duolog.core.counts import counted_are
from duolog.core.printable import for_stream

if TYPE_CHECKING:
    from duolog.ksql.statements.state import SessionState
    from duolog.plan.nodes import Plan
    from duolog.runtime.impact.report import Report
    from duolog.schemas.source import SchemaSource

COLUMNS: Final = (
    Column("kind", "string", "stream, table, query, topology, group or record"),
    Column("name", "string", "name of the reader; partition and offset of a record"),
    Column("reads", "string", "topic, stream or table that it reads"),
    Column("verdict", "string", "safe, breaks or unknown"),
    Column("path", "string | null", "column, or rule of the schema language"),
    Column("reason", "string | null", "why it breaks, or why this is unknown"),
)
_RECORDS_MAX: Final = 100_000
_TRIAL: Final = "trial://schema-impact"


@click.command()
@schema_options
@click.option(
    "-n",
    "--records",
    type=click.IntRange(0, _RECORDS_MAX),
    default=100,
    show_default=True,
    help="Number of the last records of each topic that are read with the schema.",
)
@click.option(
    "--topology",
    "topologies",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Python file with a topology, as for `duolog run`. Repeatable.",
)
@click.option(
    "--sql",
    "scripts",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File with SQL statements that do not run yet, as for `duolog sql -f`. Repeatable.",
)
@output.output_option
@cluster_options
@registry_options
def impact(
    *,
    read: Read,
    subject: str,
    records: int,
    topologies: tuple[Path, ...],
    scripts: tuple[Path, ...],
    form: str,
    cluster: Cluster,
    registry: RegistryAddress,
) -> int | None:
    """Report what the schema in FILE would break as the next version of a subject.

    Reads the streams, tables and queries of SQL, the topologies and the consumer groups of the
    cluster, and the last records of the topic. The cluster does not know which columns a topology
    reads: name its file. Changes nothing. The exit status is 6 if something breaks.

    \b
    Examples:
      duolog schema impact order.avsc --subject orders-value
      duolog schema impact order.avsc --subject orders-value --records 1000 -o json
      duolog schema impact order.avsc --subject orders-value --topology app.py
    """
    if form == "help":
        click.echo(output.help_text(COLUMNS), nl=False)
        return None
    # Imported late to keep `duolog schema impact --help` fast.
    from duolog.runtime.impact.analysis import Analysis, impact_of  # noqa: PLC0415
    from duolog.runtime.impact.cluster import KafkaCluster  # noqa: PLC0415
    from duolog.runtime.impact.readers_in_kafka import ReadersInKafka  # noqa: PLC0415
    from duolog.runtime.impact.report import Verdict  # noqa: PLC0415

    plans = dict(_plans(topologies))
    ensure_reachable(cluster.brokers)
    admin, source = registry.admin(), registry.source()
    there = ReadersInKafka(cluster.brokers)
    states = tuple(_state(path, source) for path in scripts)
    analysis = Analysis(
        KafkaCluster(cluster.brokers),
        source,
        there.catalog,
        there.applications,
        plans,
        states,
        records,
    )
    with refusals(f'compute the impact on subject "{subject}"'):
        report = impact_of(subject, admin.resolved(read(admin)), analysis)
    output.write_rows(list(_rows(report)), COLUMNS, form)
    if form == "table":
        _summarize(report)
    return CONFLICT if report.verdict is Verdict.BREAKS else None


def _plans(paths: tuple[Path, ...]) -> "Iterator[tuple[str, Plan]]":
    from duolog.cli.applications.topology_file import TopologyFile  # noqa: PLC0415

    for path in paths:
        topology = TopologyFile(path).load()
        yield topology.name, topology.build()


def _state(path: Path, source: "SchemaSource") -> "SessionState":
    """Return the catalog of a file of statements, which are analysed and not executed."""
    from duolog.ksql.session import SqlSession  # noqa: PLC0415
    from duolog.schemas.source import provide, withdraw  # noqa: PLC0415
    from duolog.schemas.trial_registry import TrialRegistry  # noqa: PLC0415

    provide(_TRIAL, TrialRegistry(source))
    try:
        session = SqlSession(given={"ksql.schema.registry.url": _TRIAL})
        for _ in session.run(path.read_text(encoding="utf-8")):
            pass
        return session.state
    finally:
        withdraw(_TRIAL)


def _rows(report: "Report") -> Iterator[dict[str, object]]:
    for finding in report.findings:
        row: dict[str, object] = {
            "kind": finding.kind,
            "name": finding.name,
            "reads": finding.reads,
            "verdict": finding.verdict.value,
        }
        for reason in finding.reasons:
            yield {**row, "path": reason.path or None, "reason": reason.text}
        if not finding.reasons:
            yield {**row, "path": None, "reason": None}
    for record in report.broken_records:
        yield {
            "kind": "record",
            "name": f"{record.partition}:{record.offset}",
            "reads": record.topic,
            "verdict": "breaks",
            "path": None,
            "reason": record.reason,
        }


def _summarize(report: "Report") -> None:
    for line in _summary(report):
        click.echo(for_stream(line, sys.stderr), err=True)


def _summary(report: "Report") -> "Iterator[str]":
    if report.topics and not report.findings:
        yield f'no reader of subject "{report.subject}" was found'
    if tried := sum(report.records_read.values()):
        broken = len(report.broken_records)
        last = "record" if tried == 1 else f"{tried} records"
        yield f"{tried - broken} of the last {last} can be read with the schema"
    if number := report.unreadable_records:
        yield (
            f"{counted_are(number, 'record')} not counted: the schema that wrote "
            f"{'them' if number > 1 else 'it'} is unknown, or the bytes do not fit it"
        )
    yield from report.notes
