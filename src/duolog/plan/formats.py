"""Formats of keys and values on a topic, as names with options.

How bytes are read and written is the business of `serde` and of the engine; the plan only knows
which columns a format can carry.

    JSON    any columns: an object; one key column alone is a bare JSON value
    KAFKA   exactly one primitive column, in the byte form of Kafka's own serializers
    NONE    no column: the key is null and is not read
"""

from dataclasses import dataclass
from typing import Final

from duolog.plan.errors import InvalidPlan, unknown_name
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    INT,
    STRING,
    Column,
    Map,
    parts_of,
    render_columns,
)

KAFKA_TYPES: Final = (BOOLEAN, INT, BIGINT, DOUBLE, STRING, BYTES)
"""The types with a serializer of Kafka's own that has a fixed meaning."""

NAMES: Final = ("JSON", "KAFKA", "NONE")


@dataclass(frozen=True, slots=True)
class Format:
    """A format by name, with options as sorted pairs."""

    name: str
    options: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise unknown_name("format", self.name, NAMES)

    def __str__(self) -> str:
        return self.name

    def check(self, columns: tuple[Column, ...], what: str) -> None:
        """Check that this format can carry `columns`; `what` names their owner in the error.

        Raises:
            StatementError: it cannot.
        """
        if self.name == "NONE" and columns:
            raise InvalidPlan(
                f"format NONE of the {what} carries no columns", detail=_given(columns)
            )
        if self.name == "KAFKA" and not (len(columns) == 1 and columns[0].type in KAFKA_TYPES):
            raise InvalidPlan(
                f"format KAFKA cannot carry the {what}",
                detail=f"KAFKA carries one column of a plain type. {_given(columns)}",
                hint='Use the format "JSON".' if columns else 'Use the format "NONE".',
            )
        if self.name == "JSON" and not columns:
            raise InvalidPlan(f"the {what} has no columns", hint="Declare at least one.")
        if self.name == "JSON":
            for column in columns:
                _ensure_keys_are_texts(column, what)


JSON: Final = Format("JSON")
KAFKA: Final = Format("KAFKA")
NONE: Final = Format("NONE")


def internal_key_format(columns: tuple[Column, ...]) -> Format:
    """Return the format of keys inside a topology, where the partitioner reads their bytes."""
    if not columns:
        return NONE
    return KAFKA if len(columns) == 1 and columns[0].type in KAFKA_TYPES else JSON


def _ensure_keys_are_texts(column: Column, what: str) -> None:
    for of in parts_of(column.type):
        if isinstance(of, Map) and of.key != STRING:
            raise InvalidPlan(
                f"format JSON cannot carry the {what}",
                detail=f'The names in an object are texts, and column "{column.name}" has a {of}.',
                hint=f"Declare MAP<STRING, {of.value}>.",
            )


def _given(columns: tuple[Column, ...]) -> str:
    return f"Its columns are ({render_columns(columns)})."
