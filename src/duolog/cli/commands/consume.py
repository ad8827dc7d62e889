"""`duolog consume`: records of a topic on standard output."""

import csv
import io
import sys
import time
from collections.abc import Iterator
from typing import BinaryIO, Final, cast

import click
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaException,
    Message,
    TopicPartition,
)

from duolog.cli import clients, output
from duolog.cli.clients import REQUEST_TIMEOUT_S, kafka_errors
from duolog.cli.output import Column
from duolog.cli.records import Headers, TextRecord, record_object, render
from duolog.cli.signals import end_in_order_on_signals
from duolog.cli.times import read_time
from duolog.core.errors import KafkaError

COLUMNS: Final = (
    Column("topic", "string", "name of the topic"),
    Column("partition", "int", "number of the partition"),
    Column("offset", "bigint", "offset of the record"),
    Column("timestamp", "bigint", "timestamp of the record in ms since 1970 UTC"),
    Column("headers", "array", "pairs of name and value; values as key and value"),
    Column("key", "string | null", 'text; {"base64": …} if the bytes are not UTF-8'),
    Column("value", "string | null", 'text; {"base64": …} if the bytes are not UTF-8'),
)
_TABLE_FORMAT: Final = "%p\t%o\t%T\t%k\t%v\n"
_POLL_S: Final = 0.2
_RECORDS_PER_POLL: Final = 1000


@click.command()
@click.argument("topic")
@click.option("--from-beginning", is_flag=True, help="From the first record that is kept.")
@click.option(
    "--offset",
    "start",
    metavar="N|beginning|end|@TIME",
    help="Where to start; @TIME is ms, RFC 3339, or an age like @10m. Default: end.",
)
@click.option("-p", "--partition", "partitions", multiple=True, type=int, help="Default: all.")
@click.option("-g", "--group", help="Read as a member of this group, from its offsets.")
@click.option("-n", "--max", "limit", type=click.IntRange(min=0), help="End after N records.")
@click.option("-e", "--until-end", is_flag=True, help="End where the topic ends now.")
@click.option("-f", "--format", "pattern", help=r"kcat's format, such as '%k=%v\n'.")
@output.output_option
@clients.bootstrap_option
@clients.properties_option
def consume(
    *,
    topic: str,
    from_beginning: bool,
    start: str | None,
    partitions: tuple[int, ...],
    group: str | None,
    limit: int | None,
    until_end: bool,
    pattern: str | None,
    form: str,
    bootstrap_servers: str,
    properties: dict[str, str],
) -> None:
    """Read records from a topic and write each to standard output.

    Without an end (--max, --until-end) it goes on until Ctrl-C. `-o json` and `-o jsonl` both write
    one object per line, as a topic has no end.

    \b
    Examples:
      duolog consume orders
      duolog consume orders --from-beginning --until-end -o jsonl
      duolog consume orders --offset @10m -f '%T %k %v\\n'
    """
    if form == "help":
        return click.echo(output.help_text(COLUMNS), nl=False)
    if from_beginning and start:
        raise click.UsageError("--from-beginning and --offset say the same thing twice")
    if group and (start or partitions or until_end):
        raise click.UsageError("a group has its own offsets and partitions: leave the options out")
    end_in_order_on_signals()
    reader = TopicReader(topic, bootstrap_servers, properties, group, from_beginning)
    writer = RecordWriter(form, pattern)
    try:
        with kafka_errors(f'read topic "{topic}"', bootstrap_servers):
            if not group:
                begin = "beginning" if from_beginning else start or "end"
                reader.assign(partitions, begin, until_end)
            for record in reader.records(limit):
                writer.write(record)
    finally:
        reader.close()
    return None


class TopicReader:
    """Reads one topic: assigned partitions up to their ends, or as a member of a group."""

    def __init__(
        self,
        topic: str,
        bootstrap_servers: str,
        properties: dict[str, str],
        group: str | None,
        from_beginning: bool,  # noqa: FBT001 - one caller, which names its variables so
    ) -> None:
        self._topic = topic
        self._consumer: Consumer = clients.consumer(
            bootstrap_servers,
            properties,
            **{
                "group.id": group or "duolog-consume",
                "enable.auto.commit": "true" if group else "false",
                "auto.offset.reset": "earliest" if from_beginning else "latest",
                "enable.partition.eof": "false",
                "allow.auto.create.topics": "false",
            },
        )
        self._ends: dict[int, int] | None = None
        if group:
            self._consumer.subscribe([topic])

    def assign(self, partitions: tuple[int, ...], start: str, until_end: bool) -> None:  # noqa: FBT001 - as above
        """Take partitions from `start` on; remember their ends if reading stops there.

        Raises:
            KafkaError: the topic, or one of the partitions, does not exist.
        """
        numbers = self._partition_numbers(partitions)
        at = [TopicPartition(self._topic, number, _offset(start)) for number in numbers]
        if start.startswith("@"):
            moment_ms = read_time(start[1:], time.time_ns() // 1_000_000)
            wanted = [TopicPartition(self._topic, number, moment_ms) for number in numbers]
            at = self._consumer.offsets_for_times(wanted, timeout=REQUEST_TIMEOUT_S)
        if until_end:
            self._ends = self._open_ends(at)
        self._consumer.assign(at)

    def records(self, limit: int | None) -> Iterator[TextRecord]:
        """Yield records until `limit`, or until the ends, or without end."""
        count = 0
        while limit is None or count < limit:
            if self._ends is not None and not self._ends:
                return
            most = _RECORDS_PER_POLL if limit is None else min(limit - count, _RECORDS_PER_POLL)
            for message in self._consumer.consume(most, _POLL_S):
                _check(message)
                if self._beyond_end(message):
                    continue
                count += 1
                yield _record(message)
            self._drop_reached_ends()

    def close(self) -> None:
        self._consumer.close()

    def _partition_numbers(self, wanted: tuple[int, ...]) -> list[int]:
        # All topics: a request that names a topic may create it.
        topics = self._consumer.list_topics(timeout=REQUEST_TIMEOUT_S).topics
        there = sorted(topics[self._topic].partitions) if self._topic in topics else []
        missing = [number for number in wanted if number not in there]
        if not there or missing:
            what = f"partition {missing[0]} of " if there else ""
            raise KafkaError(
                f'{what}topic "{self._topic}" does not exist',
                code=3,
                hint="`duolog topics list` shows what is there.",
            )
        return list(wanted) or there

    def _open_ends(self, starts: list[TopicPartition]) -> dict[int, int]:
        """Return partition → high watermark, for partitions with something to read before it."""
        ends = {}
        for start in starts:
            low, high = self._consumer.get_watermark_offsets(start, timeout=REQUEST_TIMEOUT_S)
            first = {OFFSET_BEGINNING: low, OFFSET_END: high}.get(start.offset, start.offset)
            if first < high:
                ends[start.partition] = high
        return ends

    def _beyond_end(self, message: Message) -> bool:
        if self._ends is None:
            return False
        end = self._ends.get(message.partition() or 0, 0)
        return (message.offset() or 0) >= end

    def _drop_reached_ends(self) -> None:
        """Forget partitions that were read to their end; positions also pass compacted gaps."""
        if self._ends is None:
            return
        asked = [TopicPartition(self._topic, number) for number in self._ends]
        for at in self._consumer.position(asked):
            if at.offset >= self._ends[at.partition]:
                del self._ends[at.partition]


class RecordWriter:
    """Writes records to standard output, each at once."""

    def __init__(self, form: str, pattern: str | None) -> None:
        self._form = form
        self._pattern = pattern or (_TABLE_FORMAT if form == "table" else None)
        self._out: BinaryIO = sys.stdout.buffer
        if self._pattern is None and form in {"csv", "tsv"}:
            self._write_text(self._separated([column.name for column in COLUMNS]))
        elif pattern is None and form == "table":
            self._write_text("PARTITION\tOFFSET\tTIMESTAMP\tKEY\tVALUE\n")

    def write(self, record: TextRecord) -> None:
        if self._pattern is not None:
            self._out.write(render(self._pattern, record))
            self._out.flush()
        elif self._form in {"csv", "tsv"}:
            self._write_text(self._separated(list(record_object(record).values())))
        else:
            self._write_text(output.json_line(record_object(record)) + "\n")

    def _separated(self, values: list[object]) -> str:
        line = io.StringIO()
        separator = "," if self._form == "csv" else "\t"
        csv.writer(line, delimiter=separator, lineterminator="\n").writerow(
            [output.as_text(value) for value in values]
        )
        return line.getvalue()

    def _write_text(self, text: str) -> None:
        self._out.write(text.encode())
        self._out.flush()


def _offset(start: str) -> int:
    if start.startswith("@"):
        return int(OFFSET_END)
    named = {"beginning": OFFSET_BEGINNING, "end": OFFSET_END}
    if start in named:
        return int(named[start])
    if not start.isdigit():
        raise click.BadParameter(f'"{start}" is not an offset: give N, beginning, end or @TIME')
    return int(start)


def _check(message: Message) -> None:
    error = message.error()
    if error is not None:
        raise KafkaException(error)


def _record(message: Message) -> TextRecord:
    kind, timestamp_ms = message.timestamp()
    return TextRecord(
        key=message.key(),
        value=message.value(),
        # A message that was read has its headers as pairs; the dictionary is for writing.
        headers=cast("Headers", message.headers() or []),
        timestamp_ms=None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp_ms,
        topic=message.topic() or "",
        partition=message.partition(),
        offset=message.offset(),
    )
