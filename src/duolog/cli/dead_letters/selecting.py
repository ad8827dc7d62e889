"""Options that select dead letters, and the queries that name their topics."""

import sys
import time
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Final

import click

from duolog.cli.kafka.cluster import Cluster
from duolog.cli.options import PARTITION
from duolog.cli.text.times import read_time
from duolog.core.errors import DuologError
from duolog.core.printable import for_stream
from duolog.runtime.dead_letters.selection import Selection

_SPAN: Final = "N|N..M"

Add = Callable[[Callable[..., object]], Callable[..., object]]
_OPTIONS: Final[tuple[Add, ...]] = (
    click.option(
        "--reason", metavar="TEXT", default="", help="Part of the error's class or message."
    ),
    click.option(
        "--query",
        metavar="ID",
        default="",
        help="Application or SQL query that skipped the record, or connector.",
    ),
    click.option("--source", metavar="TOPIC", default="", help="Topic that the record is from."),
    click.option(
        "-p", "--partition", "partitions", multiple=True, type=PARTITION, help="Default: all."
    ),
    click.option("--offset", "span", metavar=_SPAN, help="Offset, or the first and the last one."),
    click.option("--since", metavar="TIME", help="From a time on: ms, RFC 3339 or an age: 2h."),
    click.option("--until", metavar="TIME", help="Before a time."),
)


def selection_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add the options that select letters to a command, passed to it as `wanted`."""

    @wraps(command)
    def with_selection(
        *,
        reason: str,
        query: str,
        source: str,
        partitions: tuple[int, ...],
        span: str | None,
        since: str | None,
        until: str | None,
        **rest: object,
    ) -> object:
        now_ms = time.time_ns() // 1_000_000
        first, last = read_span(span)
        wanted = Selection(
            partitions=frozenset(partitions),
            first=first,
            last=last,
            since_ms=0 if since is None else read_time(since, now_ms),
            until_ms=None if until is None else read_time(until, now_ms),
            reason=reason,
            query=query,
            source=source,
        )
        return command(wanted=wanted, **rest)

    for add in reversed(_OPTIONS):
        add(with_selection)
    return with_selection


def read_span(text: str | None) -> tuple[int, int | None]:
    """Return the first and the last offset of the value of `--offset`.

    Example:
        >>> read_span("17"), read_span("17..20"), read_span("17.."), read_span(None)
        ((17, 17), (17, 20), (17, None), (0, None))

    Raises:
        click.BadParameter: the text is not such a value.
    """
    if text is None:
        return 0, None
    first, dots, last = text.partition("..")
    numbers = [part for part in (first, last) if part]
    if not numbers or not all(part.isascii() and part.isdecimal() for part in numbers):
        raise click.BadParameter(f'--offset "{text}" is not {_SPAN}')
    begin = int(first or 0)
    if not dots:
        return begin, begin
    return begin, int(last) if last else None


def queries_of(cluster: Cluster) -> Callable[[str], Mapping[str, str]]:
    """Return a function that reads the dead-letter topics of a service's queries, by query id."""

    def read(service_id: str) -> Mapping[str, str]:
        # The SQL front end takes a moment to load.
        from duolog.runtime.dead_letters.sql_queries import letters_of  # noqa: PLC0415

        return letters_of(cluster.brokers, service_id)

    return read


def tell(problem: DuologError | str) -> None:
    """Write a note to standard error."""
    text = problem if isinstance(problem, str) else problem.one_line()
    click.echo(for_stream(text, sys.stderr), err=True)
