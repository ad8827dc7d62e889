"""Declare settings as rows with a name, type, default, check and documentation.

Validation, suggestions for misspelled names, and the reference page are derived from the rows.

Source: Kafka `org.apache.kafka.common.config.ConfigDef`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Final

from duolog.core.errors import ConfigError

Value = bool | int | float | str | tuple[str, ...]
Check = Callable[[Value], str | None]
"""Returns the problem with a value (`"must be at least 1"`), or None."""

_TRUE_FALSE: Final = {"true": True, "false": False}
_USERS: Final = re.compile("//.*@", re.DOTALL)
"""The users in addresses, with passwords of any characters; errors do not show them."""


class Kind(Enum):
    """Type of a setting's value."""

    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    DOUBLE = "double"
    STRING = "string"
    LIST = "list"
    SHORT = "short"
    CLASS = "class"
    PASSWORD = "password"  # noqa: S105 - the name of a kind


_INTEGER_BITS: Final = {Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}

NO_EFFECT: Final = "Kept, no effect: "
"""Prefix in the documentation of settings that are accepted and returned but have no effect."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting, named as in Kafka or ksqlDB if they have it."""

    name: str
    default: Value
    kind: Kind
    doc: str
    check: Check | None = None

    @property
    def inert(self) -> bool:
        """True if the setting is accepted and returned but has no effect."""
        return self.doc.startswith(NO_EFFECT)

    def parse(self, text: str) -> Value:
        """Parse `text` as a value of this setting.

        Raises:
            ConfigError: the text has the wrong type, or the check rejects the value.
        """
        value = self._read(text.strip())
        problem = self.check(value) if self.check else None
        if problem:
            shown = "[hidden]" if self.kind is Kind.PASSWORD else _USERS.sub("//[hidden]@", text)
            raise ConfigError(
                f'setting "{self.name}" {problem}, not {shown}', name=self.name, value=shown
            )
        return value

    def render(self, value: Value) -> str:
        """Return the text from which `parse` produces `value`."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, tuple):
            return ",".join(value)
        return str(value)

    def _read(self, text: str) -> Value:
        try:
            return self._convert(text)
        except (KeyError, ValueError) as error:
            article = "an" if self.kind is Kind.INT else "a"
            raise ConfigError(
                f'setting "{self.name}" takes {article} {self.kind.value}, not "{text}"',
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
    """A group of settings, such as those of a broker, a topic or a query."""

    def __init__(self, rows: tuple[Setting, ...], *, subject: str = "setting") -> None:
        self._rows = {row.name: row for row in rows}
        self._subject = subject
        assert len(self._rows) == len(rows), "two settings have the same name"

    def __iter__(self) -> Iterator[Setting]:
        return iter(self._rows.values())

    def __contains__(self, name: str) -> bool:
        return name in self._rows

    def row(self, name: str) -> Setting:
        """Return the setting called `name`.

        Raises:
            ConfigError: it does not exist; the hint suggests the most similar name.
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
        """Return the value of each setting: the given one, or the default.

        Raises:
            ConfigError: a name is unknown, or a value is not allowed.
        """
        values: dict[str, Value] = {row.name: row.default for row in self}
        for name, text in given.items():
            values[name] = self.row(name).parse(text)
        return values


def at_least(low: float) -> Check:
    """Return a check for numbers of at least `low`."""

    def check(value: Value) -> str | None:
        assert isinstance(value, int | float)
        return None if value >= low else f"must be at least {low}"

    return check


def between(low: float, high: float) -> Check:
    """Return a check for numbers from `low` to `high`, inclusive."""

    def check(value: Value) -> str | None:
        assert isinstance(value, int | float)
        return None if low <= value <= high else f"must be between {low} and {high}"

    return check


def one_of(*allowed: str) -> Check:
    """Return a check for strings, or lists of strings, from `allowed`."""

    def check(value: Value) -> str | None:
        items = value if isinstance(value, tuple) else (value,)
        if all(item in allowed for item in items):
            return None
        return f"must be one of {', '.join(item or 'empty' for item in allowed)}"

    return check
