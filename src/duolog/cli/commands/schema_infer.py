"""`duolog schema infer`: propose a schema from the records of a topic."""

import sys
from typing import Final

import click

from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.name_completion import complete_topics
from duolog.cli.records.topic_reader import Start, TopicReader, read_start
from duolog.cli.registry.observed_records import ObservedRecords
from duolog.cli.registry.options import (
    RegistryAddress,
    found_registry,
    maybe_registry_options,
)
from duolog.cli.signals import end_in_order_on_signals
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column
from duolog.core.counts import counted
from duolog.core.errors import SerdeError
from duolog.core.printable import for_stream
from duolog.schemas.classes.schema_of import language_of, written
from duolog.schemas.inference import FieldFact, propose
from duolog.serde.wire_format import VALUE_HEADER, with_header

COLUMNS: Final = (
    Column("path", "string", "path of the field: [] are items, {} the values of a map"),
    Column("type", "string", "proposed type"),
    Column("records", "int", "values that were not null"),
    Column("of", "int", "objects that could have had the field"),
    Column("nulls", "int", "values that were null"),
    Column("note", "string", "remark, such as texts that look like dates"),
)
_RECORDS: Final = 1000


@click.command()
@click.argument("topic", shell_complete=complete_topics)
@click.option(
    "--records",
    "limit",
    type=click.IntRange(min=1),
    default=_RECORDS,
    show_default=True,
    help="Read at most N records.",
)
@click.option(
    "--format",
    "language",
    type=click.Choice(["avro", "json", "protobuf"]),
    default="avro",
    show_default=True,
    help="Language of the schema.",
)
@click.option("--name", help="Name of the record. Default: after the topic.")
@click.option("--latest", is_flag=True, help="Read the last records instead of the first ones.")
@click.option(
    "--logical",
    is_flag=True,
    help="Propose date, time and UUID types for texts that look like them. Default: texts, with a "
    "note.",
)
@output.output_option
@maybe_registry_options
@cluster_options
def infer(
    *,
    topic: str,
    limit: int,
    language: str,
    name: str | None,
    latest: bool,
    logical: bool,
    form: str,
    cluster: Cluster,
    registry: RegistryAddress,
) -> None:
    """Propose a schema for a topic from its records, and print it.

    Records are JSON, or have the id of a schema in the registry. Standard output gets the schema,
    standard error the number of records that support each field. Other forms of output than table
    contain only the fields. Nothing is registered: review the schema, then use `schema register`.

    \b
    Examples:
      duolog schema infer orders > orders-value.avsc
      duolog schema infer orders --records 100 --format protobuf
      duolog schema infer orders --logical -o json
    """
    if form == "help":
        return click.echo(output.help_text(COLUMNS), nl=False)
    end_in_order_on_signals()
    known = found_registry(registry, cluster.bootstrap_servers)
    seen = ObservedRecords(None if known is None else known.source())
    start = read_start(f"-{limit}", 0) if latest else read_start("beginning", 0)
    _read(topic, cluster, start, limit, seen)
    told = ", ".join(f"{count} {reason}" for reason, count in seen.skipped.items())
    if not seen.used:
        raise SerdeError(
            f'cannot propose a schema for topic "{topic}": no record of it can be used',
            detail=f"Records: {told}." if told else "The topic has no records.",
            hint="Records must be JSON objects, or have the id of a schema; name the registry of "
            "such records with --registry.",
        )
    # Protobuf has no list or map that may be null: one that is missing is empty.
    null = language != "protobuf"
    shape, facts = propose(seen.values, name or topic, logical=logical, nullable_lists=null)
    text = written(shape, language_of(language))
    click.echo(
        f"read {counted(seen.used, 'record')}" + (f"; skipped: {told}" if told else ""), err=True
    )
    return _print(text, facts, form)


def _read(topic: str, cluster: Cluster, start: Start, limit: int, seen: ObservedRecords) -> None:
    reader = TopicReader(topic, cluster, group=None, from_beginning=True, say=_say)
    try:
        with cluster.errors(f'read topic "{topic}"'):
            reader.assign((), start, until_end=True)
            seen.add_all(
                with_header("AVRO", record.value, record.headers, VALUE_HEADER)
                for record in reader.records(limit)
            )
    finally:
        reader.close()


def _say(text: str) -> None:
    click.echo(for_stream(text, sys.stderr), err=True)


def _print(text: str, facts: list[FieldFact], form: str) -> None:
    rows = [
        {name: getattr(fact, name) for name in ("path", "type", "records", "of", "nulls", "note")}
        for fact in facts
    ]
    if form != "table":
        output.write_rows(rows, COLUMNS, form)
        return
    click.echo(for_stream(text.rstrip("\n")))
    if rows:
        names = [column.name for column in COLUMNS]
        click.echo(for_stream(output.text_table(rows, names), sys.stderr), err=True, nl=False)
