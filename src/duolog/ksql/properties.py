"""WITH (…): what may stand there, read and checked."""

from collections.abc import Iterable
from typing import Final

from sqlglot import exp

from duolog.ksql.catalog import SourceWindow, SqlFormat, TimestampColumn
from duolog.ksql.errors import SqlError
from duolog.ksql.words import UNITS

FORMATS: Final = (
    "JSON",
    "KAFKA",
    "DELIMITED",
    "NONE",
    "AVRO",
    "PROTOBUF",
    "JSON_SR",
    "PROTOBUF_NOSR",
)


class Properties:
    """The properties of one statement, by their names in upper case."""

    def __init__(self, given: Iterable[exp.Expression] | None) -> None:
        self._values = {one.this.name.upper(): _plain(one.args["value"]) for one in given or ()}

    def text(self, name: str) -> str | None:
        value = self._values.get(name)
        return None if value is None else str(value)

    def number(self, name: str) -> int | None:
        value = self._values.get(name)
        return None if value is None else int(str(value))

    def topic(self) -> str | None:
        return self.text("KAFKA_TOPIC")

    def format(self, part: str) -> SqlFormat | None:
        """Return the format of KEY or VALUE, None where none is said."""
        both, own = self.text("FORMAT"), self.text(f"{part}_FORMAT")
        if both is not None and own is not None:
            raise SqlError(
                f"Cannot supply both '{part}_FORMAT' and 'FORMAT' properties, as 'FORMAT' sets both key and value "
                "formats. Either use just 'FORMAT', or use 'KEY_FORMAT' and 'VALUE_FORMAT'."
            )
        name = both if own is None else own
        if name is None:
            return None
        if name.upper() not in FORMATS:
            raise SqlError(f"Unknown format: {name.upper()}")
        return SqlFormat(name.upper())

    def window(self) -> SourceWindow | None:
        kind = self.text("WINDOW_TYPE")
        if kind is None:
            return None
        if kind.upper() == "SESSION":
            return SourceWindow("SESSION")
        return SourceWindow(kind.upper(), _duration(self.text("WINDOW_SIZE") or ""))  # type: ignore[arg-type]

    def timestamp(self) -> TimestampColumn | None:
        name = self.text("TIMESTAMP")
        return (
            None
            if name is None
            else TimestampColumn(name.strip("`").upper(), self.text("TIMESTAMP_FORMAT"))
        )


def _plain(node: exp.Expression) -> object:
    match node:
        case exp.Boolean():
            return bool(node.this)
        case exp.Neg():
            return f"-{node.this.name}"
        case _:
            return node.name


def _duration(text: str) -> int:
    number, _, unit = text.strip().partition(" ")
    name = unit.strip().upper()
    if name.removesuffix("S") not in UNITS:
        raise SqlError(
            f"Configuration WINDOW_SIZE is invalid: Invalid duration: '{text}'. Unknown time unit: '{name}'"
        )
    return int(number) * UNITS[name.removesuffix("S")]
