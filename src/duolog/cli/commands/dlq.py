"""`duolog dlq`: list, show and replay dead letters; see also `dlq_show` and `dlq_replay`."""

import time
from collections import Counter
from collections.abc import Mapping
from typing import Final

import click

from duolog.cli.commands.dlq_replay import replay
from duolog.cli.commands.dlq_show import show
from duolog.cli.dead_letters.selecting import queries_of, selection_options, tell
from duolog.cli.dead_letters.showing import age, counts_object
from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.name_completion import complete_topics
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column
from duolog.runtime.dead_letters.finding import Found, count_all, find, queries_of_services
from duolog.runtime.dead_letters.reading import Records
from duolog.runtime.dead_letters.replay import LetterTopic
from duolog.runtime.dead_letters.selection import Counts, Selection

_COUNTED: Final = (
    Column("letters", "bigint", "number of dead letters"),
    Column("replayed", "bigint", "those of them that were replayed"),
    Column("open", "bigint", "those of them that were not"),
    Column("oldest", "bigint | null", "lowest timestamp in ms since 1970 UTC; in tables the age"),
    Column("newest", "bigint | null", "highest timestamp; in tables the age"),
)
TOPICS: Final = (
    Column("topic", "string", "dead-letter topic"),
    *_COUNTED,
    Column("known_by", "array", "query: a SQL query names it; headers: its records have errors"),
    Column("queries", "array", "SQL queries that name it, and those of its letters"),
    Column("reasons", "object", "number of letters by class of the error"),
    Column("complete", "boolean", "false if only the newest letters were counted, see --newest"),
)
GROUPS: Final = (
    Column("topic", "string", "dead-letter topic"),
    Column("writer", "string", "duolog, streams or connect"),
    Column("reason", "string", "class of the error without its package"),
    Column("query", "string", "application, SQL query or connector; empty if unknown"),
    Column("source", "string", "topic that the records are from; empty if unknown"),
    *_COUNTED,
)
_LEFT_OUT_OF_TABLES: Final = {"reasons", "complete"}


@click.group()
def dlq() -> None:
    """List, show and replay dead letters: records that a query could not process.

    Knows those of Duolog's queries and applications, of Kafka Streams (KIP-1034) and of Kafka
    Connect, on any Kafka cluster.

    \b
    Examples:
      duolog dlq list
      duolog dlq list wrong-orders --by-group
      duolog dlq show wrong-orders --reason Serialization --since 2h
      duolog dlq show wrong-orders -p 0 --offset 17
      duolog dlq replay wrong-orders --dry-run
      duolog dlq replay wrong-orders --set-value-sql "REPLACE(VALUE, 'EUR ', '')"
    """


dlq.add_command(show)
dlq.add_command(replay)


@dlq.command("list")
@click.argument("topics", nargs=-1, shell_complete=complete_topics, metavar="[TOPIC…]")
@click.option("--by-group", is_flag=True, help="One row per reason, query and source topic.")
@click.option(
    "--newest",
    default=100_000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Count at most N of the newest records of each partition.",
)
@selection_options
@output.output_option
@cluster_options
def list_letters(
    *,
    topics: tuple[str, ...],
    by_group: bool,
    newest: int,
    wanted: Selection,
    form: str,
    cluster: Cluster,
) -> None:
    """List topics with dead letters and count them by reason, query, source and age.

    Without TOPIC, looks at the newest records of every topic whose name does not start with two
    underscores. Topics that SQL queries name are listed even if they are empty.
    """
    columns: tuple[Column, ...] = GROUPS if by_group else TOPICS
    if form == "help":
        return click.echo(output.help_text(columns), nl=False)
    with Records(cluster.brokers) as records:
        for name in topics:
            LetterTopic(records, name)  # Fails if there is no such topic.
        named, problems = queries_of_services(records.topics(), queries_of(cluster))
        for problem in problems:
            tell(problem)
        found = find(records, named, lambda topic: not topics or topic in topics, problems=tell)
        count_all(records, found, newest, wanted, tell)
    rows = [row for one in found for row in (_groups(one) if by_group else [_topic(one)])]
    if form == "table":
        now_ms = time.time_ns() // 1_000_000
        rows = [_aged(row, now_ms) for row in rows]
        columns = tuple(one for one in columns if one.name not in _LEFT_OUT_OF_TABLES)
    output.write_rows(rows, columns, form)
    if not rows:
        tell("no dead letters found")
    for one in found:
        if not one.complete:
            tell(f'not all records of topic "{one.topic}" were counted; see --newest')
    return None


def _topic(found: Found) -> dict[str, object]:
    reasons: Counter[str] = Counter()
    queries = set(found.queries)
    for (_, reason, query, _), counts in found.counts.groups.items():
        reasons[reason] += counts.letters
        queries |= {query} if query else set()
    return {
        "topic": found.topic,
        **counts_object(found.counts),
        "known_by": found.known_by,
        "queries": sorted(queries),
        "reasons": dict(reasons.most_common()),
        "complete": found.complete,
    }


def _groups(found: Found) -> list[dict[str, object]]:
    def most(item: tuple[tuple[str, ...], Counts]) -> tuple[int, tuple[str, ...]]:
        return -item[1].letters, item[0]

    return [
        {
            "topic": found.topic,
            **dict(zip(("writer", "reason", "query", "source"), group, strict=True)),
            **counts_object(counts),
        }
        for group, counts in sorted(found.counts.groups.items(), key=most)
    ]


def _aged(row: Mapping[str, object], now_ms: int) -> dict[str, object]:
    shown = dict(row)
    for name in ("oldest", "newest"):
        at_ms = row[name]
        assert at_ms is None or isinstance(at_ms, int)
        shown[name] = age(at_ms, now_ms)
    for name in ("known_by", "queries"):
        if name in row:
            listed = row[name]
            assert isinstance(listed, list)
            shown[name] = ", ".join(listed)
    return shown
