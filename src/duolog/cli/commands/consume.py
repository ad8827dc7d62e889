"""`duolog consume`: records of a topic on standard output."""

import csv
import io
import sys
import time
from typing import BinaryIO, Final

import click

from duolog.cli import output
from duolog.cli.cluster import Cluster, cluster_options
from duolog.cli.names import complete_groups, complete_topics, no_topic_option
from duolog.cli.options import PARTITION
from duolog.cli.output import Column
from duolog.cli.records import Format, TextRecord, parse_format, record_object, render
from duolog.cli.signals import end_in_order_on_signals
from duolog.cli.topic_reader import Start, TopicReader, read_start

COLUMNS: Final = (
    Column("topic", "string", "name of the topic"),
    Column("partition", "int", "number of the partition"),
    Column("offset", "bigint", "offset of the record"),
    Column("timestamp", "bigint", "timestamp of the record in ms since 1970 UTC"),
    Column("headers", "array", "pairs of name and value; values as key and value"),
    Column("key", "string | null", 'text; {"base64": …} if the bytes are not UTF-8'),
    Column("value", "string | null", 'text; {"base64": …} if the bytes are not UTF-8'),
)
_TABLE_FORMAT: Final = parse_format("%p\t%o\t%T\t%k\t%v\n")


@click.command()
@click.argument("topic", shell_complete=complete_topics)
@no_topic_option
@click.option("--from-beginning", is_flag=True, help="From the first record that is kept.")
@click.option(
    "--offset",
    "start",
    metavar="N|-N|beginning|end|@TIME",
    help="Where to start; -N is so many before the end; @TIME is ms, RFC 3339, or an age like @10m. "
    "Default: end.",
)
@click.option(
    "-p", "--partition", "partitions", multiple=True, type=PARTITION, help="Default: all."
)
@click.option(
    "-g",
    "--group",
    shell_complete=complete_groups,
    help="Read as a member of this group, from its offsets.",
)
@click.option(
    "-n",
    "--max",
    "--max-messages",
    "limit",
    type=click.IntRange(min=0),
    help="End after N records.",
)
@click.option("-e", "--until-end", is_flag=True, help="End where the topic ends now.")
@click.option("-f", "--format", "pattern", help=r"kcat's format, such as '%k=%v\n'.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing of groups, offsets and the end.")
@output.output_option
@cluster_options
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
    quiet: bool,
    form: str,
    cluster: Cluster,
) -> None:
    """Read records from a topic and write each to standard output.

    Without an end (--max, --until-end) it goes on until Ctrl-C. `-o json` and `-o jsonl` both write
    one object per line, as a topic has no end. A group commits the offsets of what was written.

    \b
    Examples:
      duolog consume orders
      duolog consume orders --from-beginning --until-end -o jsonl
      duolog consume orders --offset @10m -f '%T %k %v\\n'
      duolog consume orders --offset -5 --until-end
      duolog consume orders --group billing --from-beginning

    \b
    Of --format: %t topic, %p partition, %o offset, %T timestamp, %k key, %v value, %h headers,
      %K and %S lengths of key and value (-1 for null), %% and \\n \\t \\r \\0 \\xHH
    """
    if form == "help":
        return click.echo(output.help_text(COLUMNS), nl=False)
    if from_beginning and start:
        raise click.UsageError("--from-beginning and --offset say the same thing twice")
    if group == "":
        raise click.BadParameter("-g is empty: a group has a name")
    if group and (start or partitions):
        raise click.UsageError("a group has its own offsets and partitions: leave the options out")
    if pattern is not None and form != "table":
        raise click.UsageError("-f and -o both say how a record looks: leave one out")
    layout = None if pattern is None else _read_format(pattern)
    begin = read_start(start, time.time_ns() // 1_000_000) if start else Start()
    end_in_order_on_signals()
    reader = TopicReader(
        topic,
        cluster,
        group=group,
        from_beginning=from_beginning,
        say=(lambda _: None) if quiet else (lambda text: click.echo(text, err=True)),
    )
    try:
        with cluster.errors(f'read topic "{topic}"'):
            if group:
                reader.join(until_end=until_end)
            else:
                begin = read_start("beginning", 0) if from_beginning else begin
                reader.assign(partitions, begin, until_end=until_end)
            writer = RecordWriter(form, layout)
            for record in reader.records(limit):
                writer.write(record)
    finally:
        reader.close()
    return None


def _read_format(pattern: str) -> Format:
    try:
        return parse_format(pattern)
    except ValueError as error:
        raise click.BadParameter(f"-f: {error}") from None


class RecordWriter:
    """Writes records to standard output, each at once."""

    def __init__(self, form: str, pattern: Format | None) -> None:
        self._form = form
        self._pattern = _TABLE_FORMAT if form == "table" and pattern is None else pattern
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
