"""`duolog consume`: print the records of a topic."""

import sys
import time
from collections.abc import Callable
from typing import BinaryIO, Final

import click

from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.name_completion import complete_groups, complete_topics, reject_topic_option
from duolog.cli.options import PARTITION
from duolog.cli.records.field_forms import Forms, UnreadForm
from duolog.cli.records.field_text import problem_of
from duolog.cli.records.form_options import RAW, FormOptions, form_options
from duolog.cli.records.registry_forms import Choices, RegistryForms
from duolog.cli.records.schema_form import SchemaForm
from duolog.cli.records.text_record import (
    TEXT,
    Format,
    TextRecord,
    parse_format,
    record_object,
    render,
)
from duolog.cli.records.topic_reader import Start, TopicReader, read_start
from duolog.cli.registry.options import (
    RegistryAddress,
    found_registry,
    maybe_registry_options,
)
from duolog.cli.signals import end_in_order_on_signals
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column
from duolog.core.printable import bytes_for, for_stream

COLUMNS: Final = (
    Column("topic", "string", "name of the topic"),
    Column("partition", "int", "number of the partition"),
    Column("offset", "bigint", "offset of the record"),
    Column("timestamp", "bigint", "timestamp of the record in ms since 1970 UTC"),
    Column("headers", "array", "pairs of name and value; encoded like the record value"),
    Column(
        "key", "json | null", 'text, or as --key specifies; {"base64": …} if it cannot be decoded'
    ),
    Column("value", "json | null", 'text, or as --value-type specifies; {"base64": …} as for keys'),
)
_TABLE_FORMAT: Final = parse_format("%p\t%o\t%T\t%k\t%v\n")


@click.command()
@click.argument("topic", shell_complete=complete_topics)
@reject_topic_option
@click.option("--from-beginning", is_flag=True, help="Start at the first retained record.")
@click.option(
    "--offset",
    "start",
    metavar="N|-N|beginning|end|@TIME",
    help="Where to start: N, -N (N records before the end), beginning, end, or @TIME in ms, RFC "
    "3339 or as an age such as @10m. Default: end.",
)
@click.option(
    "-p", "--partition", "partitions", multiple=True, type=PARTITION, help="Default: all."
)
@click.option(
    "-g",
    "--group",
    shell_complete=complete_groups,
    help="Join this consumer group and start at its committed offsets.",
)
@click.option(
    "-n",
    "--max",
    "--max-messages",
    "limit",
    type=click.IntRange(min=0),
    help="Stop after N records.",
)
@click.option("-e", "--until-end", is_flag=True, help="Stop at the current end of the topic.")
@form_options(schema=True)
@click.option("-f", "--format", "pattern", help=r"kcat output format, such as '%k=%v\n'.")
@click.option("-q", "--quiet", is_flag=True, help="Print no status messages.")
@output.output_option
@maybe_registry_options
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
    options: FormOptions,
    registry: RegistryAddress,
) -> None:
    """Read records from a topic and write each to standard output.

    Runs until Ctrl-C unless --max or --until-end is given. `-o json` and `-o jsonl` both write one
    object per line. With --group, commits the offsets of the written records.

    Keys and values that start with the id of a schema are decoded by the schema registry. Others,
    and those that cannot be decoded, are shown as they are, with the reason on standard error.

    \b
    Examples:
      duolog consume orders
      duolog consume orders --from-beginning --until-end -o jsonl
      duolog consume orders --offset @10m -f '%T %k %v\\n'
      duolog consume orders --offset -5 --until-end
      duolog consume orders --group billing --from-beginning
      duolog consume orders --from-beginning --key 'id BIGINT'
      duolog consume orders-per-hour --from-beginning --key 'id BIGINT' --key-window 1h
      duolog consume orders-per-hour --from-beginning --like app.py
      duolog consume payments --registry http://127.0.0.1:8081 --value-format avro

    \b
    --format: %t topic, %p partition, %o offset, %T timestamp, %k key, %v value, %h headers,
      %K and %S lengths of key and value (-1 for null), %% and \\n \\t \\r \\0 \\xHH
    """
    if form == "help":
        return click.echo(output.help_text(COLUMNS), nl=False)
    if pattern is not None and form != "table":
        raise click.UsageError("Use either -f or -o.")
    _check_place(start, partitions, group, from_beginning=from_beginning)
    layout = None if pattern is None else _read_format(pattern)
    forms_of = _forms_of(topic, options, found_registry(registry, cluster.bootstrap_servers))
    begin = read_start(start, time.time_ns() // 1_000_000) if start else Start()
    end_in_order_on_signals()
    say = _say_nothing if quiet else _say
    reader = TopicReader(topic, cluster, group=group, from_beginning=from_beginning, say=say)
    try:
        with cluster.errors(f'read topic "{topic}"'):
            if group:
                reader.join(until_end=until_end)
            else:
                begin = read_start("beginning", 0) if from_beginning else begin
                reader.assign(partitions, begin, until_end=until_end)
            writer = RecordWriter(form, layout, forms_of, say)
            for record in reader.records(limit):
                writer.write(record)
    finally:
        reader.close()
    return None


def _check_place(
    start: str | None, partitions: tuple[int, ...], group: str | None, *, from_beginning: bool
) -> None:
    if from_beginning and start:
        raise click.UsageError("Use either --from-beginning or --offset.")
    if group == "":
        raise click.BadParameter("-g is empty; a group needs a name")
    if group and (start or partitions):
        raise click.UsageError("Leave out --offset and --partition with --group.")


def _forms_of(
    topic: str, options: FormOptions, registry: RegistryAddress | None
) -> Callable[[TextRecord], Forms]:
    """Return the function that chooses the forms of a record.

    Raises:
        click.UsageError: a format needs a registry, and none is named; see also `forms_of`.
    """
    given = options.forms_of(topic)
    choices = Choices(options.key_format, options.value_format)
    if registry is None and any(choice not in {None, RAW} for choice in choices):
        raise click.UsageError("Name the schema registry with --registry.")
    return RegistryForms(topic, given, choices, registry).of


def _say(text: str) -> None:
    click.echo(for_stream(text, sys.stderr), err=True)


def _say_nothing(text: str) -> None:
    del text


def _read_format(pattern: str) -> Format:
    try:
        return parse_format(pattern)
    except ValueError as error:
        raise click.BadParameter(f"-f: {error}") from None


class RecordWriter:
    """Writes records to standard output without buffering, and messages to `say`."""

    def __init__(
        self,
        form: str,
        pattern: Format | None,
        forms_of: Callable[[TextRecord], Forms] = lambda _: TEXT,
        say: Callable[[str], None] = _say_nothing,
    ) -> None:
        self._form = form
        self._forms_of = forms_of
        self._say = say
        self._told: set[tuple[str, str]] = set()
        self._pattern = _TABLE_FORMAT if form == "table" and pattern is None else pattern
        self._out: BinaryIO = sys.stdout.buffer
        if self._pattern is None and form in {"csv", "tsv"}:
            self._write_text(self._separated([column.name for column in COLUMNS]))
        elif pattern is None and form == "table":
            self._write_text("PARTITION\tOFFSET\tTIMESTAMP\tKEY\tVALUE\n")

    def write(self, record: TextRecord) -> None:
        forms = self._forms_of(record)
        self._report_form(record, forms)
        if self._pattern is not None:
            line = render(self._pattern, record, forms, lambda data: bytes_for(data, self._out))
            self._write(line)
        elif self._form in {"csv", "tsv"}:
            self._write_text(self._separated(list(record_object(record, forms).values())))
        else:
            self._write_text(output.json_line(record_object(record, forms)) + "\n")

    def _separated(self, values: list[object]) -> str:
        return output.separated(values, "," if self._form == "csv" else "\t") + "\n"

    def _write_text(self, text: str) -> None:
        self._write(bytes_for(text.encode(), self._out))

    def _write(self, data: bytes) -> None:
        self._out.write(data)
        self._out.flush()

    def _report_form(self, record: TextRecord, forms: Forms) -> None:
        """Report once that keys or values are not in the expected form, or for each reason.

        A schema registry can have another reason for each record; the other forms have one.
        """
        for part, form, data in zip(
            ("key", "value"), forms, (record.key, record.value), strict=True
        ):
            by_schema = isinstance(form, SchemaForm | UnreadForm)
            if data is None or (not by_schema and (part, "") in self._told):
                continue
            problem = problem_of(form, data, part)
            told = (part, problem if by_schema else "")
            if problem and told not in self._told:
                self._told.add(told)
                self._say(f"partition {record.partition}, offset {record.offset}: {problem}")
