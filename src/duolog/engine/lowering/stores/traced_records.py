"""Records on their path through a spec: each column in terms of the topics and stores it is from.

    v1 of a filter's output ─▶ flights.delay

Terms of exponentially many paths are bounded: a long text is cut, and its digest is appended.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

# A string literal or a quoted name is kept; a column is a letter and its position.
_TOKEN: Final = re.compile(r"'(?:[^'\\]|\\.)*'|`[^`]*`|\b([kvrx])(\d+)\b")
_TEXT_MAX: Final = 300


@dataclass(frozen=True, slots=True)
class TracedRecord:
    """A record on its path: its columns in terms of topics and stores, and the filters passed."""

    keys: tuple[str, ...]
    values: tuple[str, ...]
    filters: tuple[str, ...] = ()
    """Filters since the last store."""
    task: str = ""
    """How the task of its key is chosen."""

    def terms(
        self, expressions: Sequence[str], table: Sequence[str] = (), arrays: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Return expressions over this record, a row of `table` and `arrays`, in those terms."""

        def term(token: re.Match[str]) -> str:
            match token[1]:
                case "k":
                    return self.keys[int(token[2])]
                case "v":
                    return self.values[int(token[2])]
                case "r":
                    return table[int(token[2])]
                case "x":
                    return arrays[int(token[2])]
                case _:
                    return token[0]

        return tuple(bounded(_TOKEN.sub(term, expression)) for expression in expressions)

    def filtered(self, condition: str) -> "TracedRecord":
        return replace(self, filters=(*self.filters, condition))


def united(one: TracedRecord, other: TracedRecord) -> TracedRecord:
    """Return one record for two that arrive at the same node on different paths."""
    filters = [" and ".join(record.filters) for record in (one, other)]
    return TracedRecord(
        one_or_other(one.keys, other.keys),
        one_or_other(one.values, other.values),
        one.filters if one.filters == other.filters else (bounded(", or ".join(filters)),),
        *one_or_other([one.task], [other.task]),
    )


def one_or_other(texts: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Return texts for columns that have one of two contents, by position.

    Example:
        >>> one_or_other(["flights.id", "flights.delay"], ["flights.id", "0"])
        ('flights.id', 'flights.delay, or 0')
    """
    both = zip(texts, others, strict=True)
    return tuple(text if text == also else bounded(f"{text}, or {also}") for text, also in both)


def bounded(text: str) -> str:
    """Return a text of limited length that differs if `text` differs.

    Example:
        >>> bounded("a"), len(bounded("a" * 1000)), bounded("a" * 1000) == bounded("a" * 1001)
        ('a', 318, False)
    """
    if len(text) <= _TEXT_MAX:
        return text
    return f"{text[:_TEXT_MAX]}… {hashlib.sha256(text.encode()).hexdigest()[:16]}"
