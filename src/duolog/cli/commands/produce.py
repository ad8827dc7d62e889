"""`duolog produce`: lines of standard input become records."""

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click

from duolog.cli import clients
from duolog.cli.records import TextRecord, read_record_object
from duolog.cli.times import read_time
from duolog.core.errors import KafkaError, SerdeError

if TYPE_CHECKING:
    from confluent_kafka import Producer

FLUSH_TIMEOUT_S = 30.0
_PURGED = -152


class LineRules(NamedTuple):
    """How a line becomes a record."""

    form: str = "text"
    separator: str | None = None
    key: str | None = None
    empty_is_null: bool = False
    headers: tuple[tuple[str, bytes], ...] = ()
    timestamp_ms: int | None = None


@click.command()
@click.argument("topic")
@click.option("-K", "--key-separator", "separator", help="What parts key and value of a line.")
@click.option("-k", "--key", help="The key of every record.")
@click.option(
    "-i",
    "--input",
    "form",
    type=click.Choice(["text", "jsonl"]),
    default="text",
    show_default=True,
    help="`jsonl` reads the objects that `consume -o jsonl` writes.",
)
@click.option("-Z", "--null", "empty_is_null", is_flag=True, help="An empty key or value is null.")
@click.option("-H", "--header", "headers", multiple=True, metavar="NAME=VALUE")
@click.option("-t", "--timestamp", help="Of every record: ms, RFC 3339, or an age like 10m.")
@click.option("-p", "--partition", default=-1, show_default="by key", help="The partition.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing when it went well.")
@clients.bootstrap_option
@clients.properties_option
def produce(
    *,
    topic: str,
    separator: str | None,
    key: str | None,
    form: str,
    empty_is_null: bool,
    headers: tuple[str, ...],
    timestamp: str | None,
    partition: int,
    quiet: bool,
    bootstrap_servers: str,
    properties: dict[str, str],
) -> None:
    """Write lines of standard input as records to a topic.

    Ends when the broker has acknowledged each record.

    \b
    Examples:
      echo 'hello' | duolog produce greetings
      echo 'bob:{"city": "Rome"}' | duolog produce users -K :
      echo 'bob:' | duolog produce users -K : -Z          # a null value: deletes bob
      duolog consume a --from-beginning --until-end -o jsonl | duolog produce b -i jsonl
    """
    if separator and form == "jsonl":
        raise click.UsageError("-K is for -i text: a JSON line has its key inside")
    rules = LineRules(
        form=form,
        separator=_unescape(separator),
        key=key,
        empty_is_null=empty_is_null,
        headers=tuple(_header(text) for text in headers),
        timestamp_ms=read_time(timestamp, time.time_ns() // 1_000_000) if timestamp else None,
    )
    sender = Sender(topic, partition, bootstrap_servers, properties)
    try:
        for record in read_lines(sys.stdin.buffer, rules):
            sender.send(record)
    finally:
        # Also after a bad line: what was good before it is written, and the count says how much.
        count = sender.finish()
        if not quiet:
            click.echo(f'produced {count} record(s) to topic "{topic}"', err=True)


class Sender:
    """Sends records and counts acknowledgements; the first refusal ends it."""

    def __init__(
        self, topic: str, partition: int, bootstrap_servers: str, properties: dict[str, str]
    ) -> None:
        self._topic = topic
        self._partition = partition
        self._bootstrap_servers = bootstrap_servers
        self._acknowledged = 0
        self._refusal: KafkaError | None = None
        self._producer: Producer = clients.producer(
            bootstrap_servers, properties, **{"linger.ms": 20, "message.timeout.ms": 30_000}
        )

    def send(self, record: TextRecord) -> None:
        """Hand one record to the client; waits while its buffer is full.

        Raises:
            KafkaError: a record was refused.
        """
        while True:
            try:
                self._producer.produce(
                    self._topic,
                    key=record.key,
                    value=record.value,
                    headers=list(record.headers),
                    partition=self._partition,
                    timestamp=record.timestamp_ms or 0,
                    on_delivery=self._delivered,
                )
            except BufferError:
                self._producer.poll(0.5)
            else:
                break
        self._producer.poll(0)
        self._check()

    def finish(self) -> int:
        """Wait until every record is acknowledged; return how many there were.

        Raises:
            KafkaError: a record was refused.
        """
        self._producer.flush(FLUSH_TIMEOUT_S)
        self._check()
        return self._acknowledged

    def _delivered(self, error: Any, message: object) -> None:
        if error is None:
            self._acknowledged += 1
        elif self._refusal is None and error.code() != _PURGED:
            self._refusal = clients.as_kafka_error(
                error, f'write to topic "{self._topic}"', self._bootstrap_servers
            )

    def _check(self) -> None:
        if self._refusal is not None:
            self._producer.purge()
            raise self._refusal


def read_lines(lines: BinaryIO, rules: LineRules) -> Iterator[TextRecord]:
    """Read records from lines.

    Raises:
        SerdeError: a line is not a record; it says which line.
    """
    for number, line in enumerate(lines, 1):
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        if rules.form == "jsonl" and not text.strip():
            continue
        try:
            yield read_line(text, rules)
        except SerdeError as error:
            raise SerdeError(
                f"line {number} is not a record", detail=error.detail, hint=error.hint
            ) from error


def read_line(line: bytes, rules: LineRules) -> TextRecord:
    """Read one record from a line without its end."""
    if rules.form == "jsonl":
        record = read_record_object(line.decode(errors="surrogateescape"))
        return record._replace(
            headers=[*record.headers, *rules.headers],
            timestamp_ms=rules.timestamp_ms or record.timestamp_ms,
        )
    key = rules.key.encode() if rules.key is not None else None
    value = line
    if rules.separator:
        key, separator, value = line.partition(rules.separator.encode())
        if not separator:
            raise SerdeError(
                "a line is not a record",
                detail=f'"{line.decode(errors="replace")}" has no "{rules.separator}".',
                hint="Write key, separator, value; or leave -K out for records without key.",
            )
    return TextRecord(
        key=None if rules.empty_is_null and not key else key,
        value=None if rules.empty_is_null and not value else value,
        headers=list(rules.headers),
        timestamp_ms=rules.timestamp_ms,
    )


def _unescape(separator: str | None) -> str | None:
    return separator.replace(r"\t", "\t") if separator else None


def _header(text: str) -> tuple[str, bytes]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f'"{text}" is not NAME=VALUE')
    return name, value.encode()
