"""Settings as rows: a name, a kind, a default, a check and a sentence of documentation.

From the rows come validation, the error that names the nearest setting, and the reference page.

Source: Kafka `org.apache.kafka.common.config.ConfigDef`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Final

from duolog.core.errors import ConfigError

Value = bool | int | float | str | tuple[str, ...]
Check = Callable[[Value], str | None]
"""Says what is wrong with a value (`"must be at least 1"`), or returns None."""

_TRUE_FALSE: Final = {"true": True, "false": False}


class Kind(Enum):
    """How the text of a setting is read."""

    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    DOUBLE = "double"
    STRING = "string"
    LIST = "list"
    SHORT = "short"
    CLASS = "class"
    PASSWORD = "password"  # noqa: S105 - the name of a kind


class Importance(Enum):
    """How likely a user is to need the setting."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


_INTEGER_BITS: Final = {Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}

NO_EFFECT: Final = "Kept, no effect: "
"""How the documentation of a setting begins that is taken and told, and means nothing here."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, under the name that Kafka or ksqlDB gives it where they have one."""

    name: str
    default: Value
    kind: Kind
    doc: str
    check: Check | None = None
    importance: Importance = Importance.MEDIUM

    @property
    def inert(self) -> bool:
        """Whether it is taken and told, and means nothing here."""
        return self.doc.startswith(NO_EFFECT)

    def parse(self, text: str) -> Value:
        """Read `text` as a value of this setting.

        Raises:
            ConfigError: the text is not of the setting's kind, or the check refuses the value.
        """
        value = self._read(text.strip())
        problem = self.check(value) if self.check else None
        if problem:
            raise ConfigError(
                f'setting "{self.name}" {problem}, not {text}', name=self.name, value=text
            )
        return value

    def render(self, value: Value) -> str:
        """Return `value` as the text that `parse` reads back."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, tuple):
            return ",".join(value)
        return str(value)

    def _read(self, text: str) -> Value:
        try:
            return self._convert(text)
        except (KeyError, ValueError) as error:
            raise ConfigError(
                f'setting "{self.name}" takes a {self.kind.value}, not "{text}"',
                name=self.name,
                value=text,
            ) from error

    def _convert(self, text: str) -> Value:
        match self.kind:
            case Kind.BOOLEAN:
                return _TRUE_FALSE[text.lower()]
            case Kind.SHORT | Kind.INT | Kind.LONG:
                return _integer(text, _INTEGER_BITS[self.kind])
            case Kind.DOUBLE:
                return float(text)
            case Kind.LIST:
                return tuple(item.strip() for item in text.split(",")) if text else ()
            case Kind.STRING | Kind.CLASS | Kind.PASSWORD:
                return text


def _integer(text: str, bits: int) -> int:
    value = int(text)
    if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise ValueError(text)
    return value


class Settings:
    """A set of rows that belong together: the settings of a broker, of a topic, of a query."""

    def __init__(self, rows: tuple[Setting, ...], *, subject: str = "setting") -> None:
        self._rows = {row.name: row for row in rows}
        self._subject = subject
        assert len(self._rows) == len(rows), "two settings have the same name"

    def __iter__(self) -> Iterator[Setting]:
        return iter(self._rows.values())

    def __contains__(self, name: str) -> bool:
        return name in self._rows

    def row(self, name: str) -> Setting:
        """Return the row called `name`.

        Raises:
            ConfigError: there is none; the hint names the nearest.
        """
        try:
            return self._rows[name]
        except KeyError:
            nearest = get_close_matches(name, self._rows, n=1, cutoff=0.0)
            raise ConfigError(
                f'unknown {self._subject} "{name}"',
                name=name,
                hint=f'The nearest known name is "{nearest[0]}".' if nearest else "",
            ) from None

    def parse(self, given: Mapping[str, str]) -> dict[str, Value]:
        """Return a value for each row: the given one, or the default.

        Raises:
            ConfigError: a name is unknown, or a value is not allowed.
        """
        values: dict[str, Value] = {row.name: row.default for row in self}
        for name, text in given.items():
            values[name] = self.row(name).parse(text)
        return values


def at_least(low: float) -> Check:
    """Return a check for numbers that are not below `low`."""

    def check(value: Value) -> str | None:
        assert isinstance(value, int | float)
        return None if value >= low else f"must be at least {low}"

    return check


def between(low: float, high: float) -> Check:
    """Return a check for numbers from `low` to `high`, both allowed."""

    def check(value: Value) -> str | None:
        assert isinstance(value, int | float)
        return None if low <= value <= high else f"must be between {low} and {high}"

    return check


def one_of(*allowed: str) -> Check:
    """Return a check for texts, or lists of texts, out of `allowed`."""

    def check(value: Value) -> str | None:
        items = value if isinstance(value, tuple) else (value,)
        if all(item in allowed for item in items):
            return None
        return f"must be one of {', '.join(allowed)}"

    return check
