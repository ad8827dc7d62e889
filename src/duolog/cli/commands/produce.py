"""`duolog produce`: write lines of standard input to a topic."""

import codecs
import io
import os
import select
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

import click
from confluent_kafka import KafkaException

from duolog.cli.kafka import clients
from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.name_completion import complete_topics, reject_topic_option
from duolog.cli.options import PARTITION
from duolog.cli.records.field_forms import FieldForm, Forms
from duolog.cli.records.field_text import read_field
from duolog.cli.records.form_options import FormOptions, form_options
from duolog.cli.records.schema_options import SchemaOptions, schema_options
from duolog.cli.records.text_record import TEXT, TextRecord, read_record_object
from duolog.cli.registry.options import (
    RegistryAddress,
    found_registry,
    maybe_registry_options,
)
from duolog.cli.text.times import read_time
from duolog.core.counts import counted
from duolog.core.errors import KafkaError, SerdeError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError as ClientError
    from confluent_kafka import Producer

TIMEOUT_MS: Final = 30_000
_PURGED: Final = -152
_TOO_LARGE: Final = 10
_LOOK_S: Final = 0.2
_SILENCE_S: Final = 2.0
_READ_BYTES: Final = 65_536


class LineRules(NamedTuple):
    """Rules for converting a line to a record."""

    form: str = "text"
    separator: str | None = None
    key: bytes | None = None
    empty_is_null: bool = False
    headers: tuple[tuple[str, bytes], ...] = ()
    timestamp_ms: int | None = None
    forms: Forms = TEXT


@click.command()
@click.argument("topic", shell_complete=complete_topics)
@reject_topic_option
@click.option("-K", "--key-separator", "separator", help="Separator of key and value in a line.")
@click.option("-k", "--key", help="Key of every record.")
@click.option(
    "-i",
    "--input",
    "form",
    type=click.Choice(["text", "jsonl"]),
    default="text",
    show_default=True,
    help="Input format. jsonl: the objects that `consume -o jsonl` writes.",
)
@form_options(schema=False)
@click.option(
    "-Z", "--null", "empty_is_null", is_flag=True, help="Read an empty key or value as null."
)
@click.option(
    "-H",
    "--header",
    "headers",
    multiple=True,
    metavar="NAME=VALUE",
    help="Header of every record. Repeatable.",
)
@click.option(
    "-t", "--timestamp", help="Timestamp of every record: ms, RFC 3339 or an age such as 10m."
)
@click.option(
    "-p",
    "--partition",
    type=PARTITION,
    default=None,
    show_default="by key",
    help="Partition of every record.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing on success.")
@schema_options
@maybe_registry_options
@cluster_options
def produce(
    *,
    topic: str,
    separator: str | None,
    key: str | None,
    form: str,
    empty_is_null: bool,
    headers: tuple[str, ...],
    timestamp: str | None,
    partition: int | None,
    quiet: bool,
    cluster: Cluster,
    options: FormOptions,
    schemas: SchemaOptions,
    registry: RegistryAddress,
) -> None:
    """Write lines of standard input to a topic as records.

    Returns when the broker has acknowledged every record. Stops at the first line that is not a
    record: the lines before it are written, the lines after it are not.

    With a schema, keys and values are JSON that must fit it. A key or value that is a string needs
    no quotes, except in -i jsonl.

    \b
    Examples:
      echo 'hello' | duolog produce greetings
      echo 'bob:{"city": "Rome"}' | duolog produce users -K :
      echo 'bob:' | duolog produce users -K : -Z          # a null value: deletes bob
      echo '1001:{"amount": 5}' | duolog produce orders -K : --key-type bigint
      echo '1001:{"amount": 5}' | duolog produce orders -K : --like app.py
      echo '{"id": 1}' | duolog produce orders --value-format avro
      echo '{"id": 1}' | duolog produce orders --schema order.avsc --register
      duolog consume a --from-beginning --until-end -o jsonl --key-format raw \\
          --value-format raw | duolog produce b -i jsonl

    \b
    A line of -i jsonl; key or value is required, other fields are optional:
      {"key": "bob", "value": {"city": "Rome"}, "headers": [["from", "app"]],
       "timestamp": "2013-01-01T10:15:00Z"}
    The fields topic, partition and offset are ignored; -p sets the partition.
    """
    _check_usage(form, separator, key, empty_is_null=empty_is_null)
    known = found_registry(registry, cluster.bootstrap_servers)
    forms = schemas.forms_of(topic, options, known)
    rules = LineRules(
        form=form,
        separator=_unescape(separator),
        key=None if key is None else _key_of_all(forms.key, key),
        empty_is_null=empty_is_null,
        headers=tuple(_header(text) for text in headers),
        timestamp_ms=read_time(timestamp, time.time_ns() // 1_000_000) if timestamp else None,
        forms=forms,
    )
    sender = Sender(topic, -1 if partition is None else partition, cluster)
    if sys.stdin.isatty() and not quiet:
        click.echo("enter one record per line; Ctrl-D finishes", err=True)
    try:
        _send_all(sender, rules)
    finally:
        count = sender.acknowledged
        if not quiet or sys.exc_info()[0] is not None:
            click.echo(f'produced {counted(count, "record")} to topic "{topic}"', err=True)


def _check_usage(form: str, separator: str | None, key: str | None, *, empty_is_null: bool) -> None:
    if form == "jsonl" and (separator is not None or key is not None or empty_is_null):
        raise click.UsageError(
            "-K, -k and -Z apply to -i text only; a JSON line contains its own key."
        )
    if separator is not None and key is not None:
        raise click.UsageError("Use either -K (keys in the lines) or -k (one key for all records).")
    if separator == "":
        raise click.BadParameter("-K is empty; specify a separator, such as -K :")
    if sys.stdin is None:
        raise click.UsageError("Standard input is closed; pipe lines into the command.")


def _send_all(sender: "Sender", rules: LineRules) -> None:
    try:
        for record in read_lines(lines_of(sys.stdin.buffer, sender.look), rules):
            sender.send(record)
    except (SerdeError, KeyboardInterrupt):
        # The lines before the bad one are written, and their count is reported.
        sender.finish()
        raise
    sender.finish()


class Sender:
    """Sends records and counts acknowledgements; stops at the first refused record."""

    def __init__(self, topic: str, partition: int, cluster: Cluster) -> None:
        self._topic = topic
        self._partition = partition
        self._cluster = cluster
        self._refusal: KafkaError | None = None
        self._connection = cluster.connection()
        self._producer: Producer = cluster.producer(
            self._connection, **{"linger.ms": 20, "message.timeout.ms": TIMEOUT_MS}
        )
        self._sent = 0
        self.acknowledged = 0
        # Check that the broker answers: otherwise each record would wait for its own timeout.
        cluster.ask(lambda timeout: self._producer.list_topics(topic, timeout=timeout))

    def send(self, record: TextRecord) -> None:
        """Pass one record to the client; wait while its buffer is full.

        Raises:
            SerdeError: the record is too large for the client.
            KafkaError: a record was refused, or no broker is reachable any more.
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
                self._producer.poll(_LOOK_S)
                self.look()
            except KafkaException as error:
                if error.args[0].code() == _TOO_LARGE:
                    raise too_large(record, self._sent + 1, self._topic) from error
                self._refuse(error.args[0])
                self.look()
            else:
                break
        self._sent += 1
        self.look()

    def look(self) -> None:
        """Process acknowledgements received so far; raises as `send`."""
        self._producer.poll(0)
        try:
            self._check()
            self._connection.look()
        except KafkaError:
            self._producer.purge()
            raise

    def finish(self) -> None:
        """Wait until every record is acknowledged; raises as `send`."""
        silent_since = time.monotonic()
        told = False
        while waiting := self._flush():
            self.look()
            if not told and time.monotonic() - silent_since > _SILENCE_S:
                told = True
                click.echo(
                    f"waiting for {counted(waiting, 'record')} to be acknowledged …", err=True
                )
        self._check()

    def _flush(self) -> int:
        """Wait a moment for acknowledgements; return how many records are waiting for theirs."""
        try:
            return self._producer.flush(_LOOK_S)
        except KafkaException as error:
            # The broker gives the producer no id, for example without the right Write.
            self._refuse(error.args[0])
            self._check()
            raise

    def _delivered(self, error: "ClientError | None", message: object) -> None:
        del message
        if error is None:
            self.acknowledged += 1
        elif error.code() != _PURGED:
            self._refuse(error)

    def _refuse(self, error: "ClientError") -> None:
        if self._refusal is None:
            self._refusal = clients.as_kafka_error(
                error, f'write to topic "{self._topic}"', self._cluster.bootstrap_servers
            )

    def _check(self) -> None:
        if self._refusal is not None:
            raise self._refusal


def too_large(record: TextRecord, number: int, topic: str) -> SerdeError:
    """Return the error for a record that is too large or invalid for the client."""
    size = len(record.key or b"") + len(record.value or b"")
    size += sum(len(name.encode()) + len(value or b"") for name, value in record.headers)
    return SerdeError(
        f"record {number} is too large; it and the following lines are not written",
        detail=f"Its key, value and headers have {counted(size, 'byte')}: with the overhead of the "
        "format, more than the client's message.max.bytes.",
        hint="Split the record, or raise both limits: the client's with -X message.max.bytes=N, "
        f"the topic's with `duolog topics alter {topic} --config max.message.bytes=N`.",
    )


def lines_of(stream: BinaryIO, look: Callable[[], None]) -> Iterator[bytes]:
    """Yield the lines of a stream; call `look` while waiting for the next one."""
    try:
        file = stream.fileno()
    except io.UnsupportedOperation:
        yield from stream
        return
    if sys.platform == "win32":  # Its `select` knows only sockets.
        yield from stream
        return
    begun: list[bytes] = []
    while True:
        while not select.select([file], [], [], _LOOK_S)[0]:
            look()
        data = os.read(file, _READ_BYTES)
        if not data:
            break
        first, *others = data.split(b"\n")
        begun.append(first)
        if others:
            yield b"".join(begun)
            yield from others[:-1]
            begun = others[-1:]
    if rest := b"".join(begun):
        yield rest


def read_lines(lines: Iterable[bytes], rules: LineRules) -> Iterator[TextRecord]:
    """Read records from lines.

    Raises:
        SerdeError: a line is not a record; the message contains its number.
    """
    for number, line in enumerate(lines, 1):
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        if rules.form == "jsonl" and number == 1:
            text = text.removeprefix(codecs.BOM_UTF8)
        if rules.form == "jsonl" and not text.strip():
            continue
        try:
            yield read_line(text, rules)
        except SerdeError as error:
            raise SerdeError(
                f"line {number} is not a record; it and the following lines are not written",
                detail=error.detail,
                hint=error.hint,
            ) from error


def read_line(line: bytes, rules: LineRules) -> TextRecord:
    """Read one record from a line without its line ending."""
    if rules.form == "jsonl":
        record = read_record_object(_as_utf8(line), rules.forms)
        return record._replace(
            headers=[*record.headers, *rules.headers],
            timestamp_ms=rules.timestamp_ms or record.timestamp_ms,
        )
    key, value = rules.key, line
    if rules.separator:
        text, separator, value = line.partition(rules.separator.encode())
        if not separator:
            raise SerdeError(
                "a line is not a record",
                detail=f'"{line.decode(errors="replace")}" has no "{rules.separator}".',
                hint="Write key, separator and value, or leave out -K for records without a key.",
            )
        nothing = rules.empty_is_null and not text
        key = None if nothing else read_field(rules.forms.key, "key", text)
    nothing = rules.empty_is_null and not value
    return TextRecord(
        key=None if rules.empty_is_null and not key else key,
        value=None if nothing else read_field(rules.forms.value, "value", value),
        headers=list(rules.headers),
        timestamp_ms=rules.timestamp_ms,
    )


def _key_of_all(form: FieldForm, key: str) -> bytes:
    try:
        return read_field(form, "key", key.encode())
    except SerdeError as error:
        raise click.BadParameter(f"-k: {error.detail}") from None


def _as_utf8(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise SerdeError(
            "a line is not a record",
            detail=f"it is not UTF-8: it contains the byte 0x{line[error.start]:02x}",
            hint='Encode the JSON as UTF-8, and write binary data as {"base64": "…"}.',
        ) from error


def _unescape(separator: str | None) -> str | None:
    return separator.replace(r"\t", "\t") if separator else None


def _header(text: str) -> tuple[str, bytes]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f'"{text}" is not NAME=VALUE')
    return name, value.encode()
