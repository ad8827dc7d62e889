"""Dead letters as text and as JSON.

Control and direction characters of records are escaped on terminals; JSON, CSV and raw bytes are
never changed in files and pipes.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from duolog.cli.records.field_forms import Forms
from duolog.cli.records.field_text import as_json
from duolog.cli.records.text_record import TextRecord
from duolog.cli.terminal.output import Column, as_text
from duolog.cli.text.json_bytes import to_json_text
from duolog.runtime.dead_letters.letter import Letter, Record
from duolog.runtime.dead_letters.selection import Counts

COLUMNS: Final = (
    Column("topic", "string", "dead-letter topic"),
    Column("partition", "int", "partition of the letter in it"),
    Column("offset", "bigint", "offset of the letter in it"),
    Column("timestamp", "bigint", "timestamp of the letter in ms since 1970 UTC"),
    Column("writer", "string", "duolog, streams or connect"),
    Column("query", "string", "application, SQL query or connector; empty if unknown"),
    Column("reason", "string", "class of the error without its package"),
    Column("error_class", "string", "class of the error"),
    Column("message", "string", "message of the error"),
    Column("stacktrace", "string", "stack trace, as far as the letter has it"),
    Column("source_topic", "string | null", "topic that the record was read from"),
    Column("source_partition", "int | null", "its partition there"),
    Column("source_offset", "bigint | null", "its offset there"),
    Column("source_timestamp", "bigint", "its timestamp in ms since 1970 UTC"),
    Column("replayed", "boolean", "true if it was replayed"),
    Column("replays", "int", "number of replays before it was skipped again"),
    Column("left_out", "string", "parts that were too large for the letter"),
    Column("headers", "array", "own headers: pairs of name and value"),
    Column("key", "json | null", 'text, or as --key specifies; {"base64": …} for other bytes'),
    Column("value", "json | null", 'text, or as --value-type specifies; {"base64": …} as for keys'),
)
TABLE: Final = (
    Column("place", "string", "partition:offset in the dead-letter topic"),
    Column("time", "string", "timestamp of the letter"),
    Column("source", "string", "topic:partition:offset of the record"),
    Column("query", "string", "as in COLUMNS"),
    Column("reason", "string", "as in COLUMNS"),
    Column("message", "string", "beginning of the message"),
    Column("key", "string", "beginning of the key"),
    Column("value", "string", "beginning of the value"),
)
_CELL_MAX: Final = 40
_VALUE_MAX: Final = 4_000
_MS: Final = 1000
_INDENT: Final = 10
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


def text_record(record: Record) -> TextRecord:
    """Return a record as other commands read it."""
    return TextRecord(
        record.key,
        record.value,
        list(record.headers),
        record.timestamp_ms,
        record.topic,
        record.partition,
        record.offset,
    )


def letter_object(letter: Letter, forms: Forms, *, replayed: bool) -> dict[str, object]:
    """Return a letter as a JSON object with `COLUMNS`."""
    record, failure, source = letter.record, letter.failure, letter.source
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "writer": letter.writer,
        "query": letter.query,
        "reason": letter.reason,
        "error_class": failure.class_name,
        "message": failure.message,
        "stacktrace": failure.stacktrace,
        "source_topic": source.topic,
        "source_partition": source.partition,
        "source_offset": source.offset,
        "source_timestamp": letter.timestamp_ms,
        "replayed": replayed,
        "replays": letter.replays,
        "left_out": letter.left_out,
        "headers": [[name, to_json_text(data)] for name, data in letter.own],
        "key": as_json(forms.key, record.key),
        "value": as_json(forms.value, record.value),
    }


def table_row(shown: Mapping[str, object]) -> dict[str, object]:
    """Return the row of a letter in a table, with long texts cut."""
    source = (shown["source_topic"], shown["source_partition"], shown["source_offset"])
    return {
        "place": f"{shown['partition']}:{shown['offset']}" + (" *" if shown["replayed"] else ""),
        "time": moment(shown["timestamp"]),
        "source": ":".join("?" if part is None else str(part) for part in source),
        **{
            name: one_line(shown[name], _CELL_MAX)
            for name in ("query", "reason", "message", "key", "value")
        },
    }


def page(shown: Mapping[str, object]) -> str:
    """Return a letter as lines, with its stack trace and the beginning of a long value.

    Further lines of a text are indented: a record cannot look like a fact about it.
    """
    facts = {
        "letter": f"{shown['topic']}, partition {shown['partition']}, offset {shown['offset']}",
        "written": f"{moment(shown['timestamp'])} by {shown['writer']}",
        "query": shown["query"] or "unknown",
        "source": f"{shown['source_topic']}, partition {shown['source_partition']}, "
        f"offset {shown['source_offset']}, {moment(shown['source_timestamp'])}",
        "error": shown["error_class"],
        "message": shown["message"],
        "replayed": "yes" if shown["replayed"] else "no",
        "left out": shown["left_out"] or "nothing",
        "key": _long(shown["key"]),
        "value": _long(shown["value"]),
    }
    headers = shown["headers"]
    assert isinstance(headers, list)
    lines = [f"{name + ':':<10}{text}" for name, text in facts.items()]
    lines += [f"header {name}: {_long(data)}" for name, data in headers]
    lines = [_LINE_END.sub("\n" + " " * _INDENT, line) for line in lines]
    trace = _LINE_END.sub("\n  ", str(shown["stacktrace"]).rstrip())
    return "\n".join([*lines, *([f"stack trace:\n{trace}"] if trace else [])]) + "\n"


def one_line(value: object, most: int) -> str:
    r"""Return a value as the text of a cell, on one line, cut to some characters.

    Example:
        >>> one_line("a\nb", 10), one_line("abcdef", 4), one_line(None, 4)
        ('a\\nb', 'abc…', '')
    """
    text = as_text(value)[: most + 1].replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    return text if len(text) <= most else f"{text[: most - 1]}…"


def moment(at_ms: object) -> str:
    """Return a time as text; digits if it is not one that people know."""
    assert isinstance(at_ms, int)
    try:
        at = datetime.fromtimestamp(at_ms / _MS, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{at_ms} ms"
    return f"{at:%Y-%m-%dT%H:%M:%S}Z"


def age(at_ms: int | None, now_ms: int) -> str:
    """Return how long ago a time was, in its largest unit.

    Example:
        >>> age(0, 90_000), age(None, 0), age(5, 0)
        ('1m', '', '0s')
    """
    if at_ms is None:
        return ""
    seconds = max(0, now_ms - at_ms) // _MS
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def counts_object(counts: Counts) -> dict[str, object]:
    """Return numbers of letters for a row."""
    return {
        "letters": counts.letters,
        "replayed": counts.replayed,
        "open": counts.letters - counts.replayed,
        "oldest": counts.oldest_ms,
        "newest": counts.newest_ms,
    }


def _long(value: object) -> str:
    text = "null" if value is None else as_text(value)
    if len(text) <= _VALUE_MAX:
        return text
    return f"{text[:_VALUE_MAX]}… ({len(text):,} characters; --raw writes all bytes)"
