"""A dead letter in an answer: facts, and the beginning of key and value as text.

    {"partition", "offset", "timestamp", "writer", "query", "reason", "errorClass", "message",
     "stacktrace", "source": {"topic", "partition", "offset", "timestamp"}, "replayed", "replays",
     "leftOut", "headers": [[name, part]…], "key": part, "value": part}
    part: null, or {"text", "format", "bytes", "cut"}

All bytes of a key or value have an address of their own.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from duolog.core.units import KIB, MIB
from duolog.runtime.dead_letters.letter import Letter

Guess = Callable[[bytes | None], tuple[str, str]]
"""Returns bytes as text, with their probable format."""
_TEXT_MAX: Final = 16 * KIB
_READ_MAX: Final = MIB
"""Longer keys and values are not decoded as a whole."""
_HEADERS_MAX: Final = 100
_UTF8_MAX: Final = 4


def shown_letter(
    letter: Letter, guess: Guess, ids: Mapping[str, str], *, replayed: bool
) -> dict[str, Any]:
    """Return a letter as a JSON object; `ids` has the query of each application id."""
    record, failure, source = letter.record, letter.failure, letter.source
    return {
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "writer": letter.writer,
        "query": ids.get(letter.query, letter.query),
        "reason": letter.reason,
        "errorClass": failure.class_name[:_TEXT_MAX],
        "message": failure.message[:_TEXT_MAX],
        "stacktrace": failure.stacktrace[:_TEXT_MAX],
        "source": {**source._asdict(), "timestamp": letter.timestamp_ms},
        "replayed": replayed,
        "replays": letter.replays,
        "leftOut": letter.left_out,
        "headers": [[name, shown_bytes(data, guess)] for name, data in letter.own[:_HEADERS_MAX]],
        "key": shown_bytes(record.key, guess),
        "value": shown_bytes(record.value, guess),
    }


def shown_bytes(data: bytes | None, guess: Guess) -> dict[str, Any] | None:
    r"""Return the beginning of bytes as text.

    Example:
        >>> shown_bytes(b"bob", lambda data: (data.decode(), "KAFKA_STRING"))
        {'text': 'bob', 'format': 'KAFKA_STRING', 'bytes': 3, 'cut': False}
    """
    if data is None:
        return None
    if len(data) <= _READ_MAX:
        text, form = guess(data)
    else:
        # The cut may be in the middle of a character.
        start = data[:_TEXT_MAX]
        text, form = _start_of_text(start) or (start.hex(), "KAFKA_BYTES")
    cut = len(text) > _TEXT_MAX or len(data) > _READ_MAX
    return {"text": text[:_TEXT_MAX], "format": form, "bytes": len(data), "cut": cut}


def _start_of_text(start: bytes) -> tuple[str, str] | None:
    for end in range(len(start), len(start) - _UTF8_MAX, -1):
        try:
            return start[:end].decode(), "KAFKA_STRING"
        except UnicodeDecodeError:
            continue
    return None
