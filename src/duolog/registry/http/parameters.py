"""Parameters of a query, read as Confluent's registry reads them.

    a flag       "true" in any case is true; all else, also an empty value, is false
    a number     a Java int; all else is a 404, as in JAX-RS
    a text       as sent; the first of several
    texts        all of them, in order

An unknown parameter is ignored.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Self
from urllib.parse import unquote_to_bytes

_INT: Final = re.compile(r"[+-]?[0-9]{1,10}")
_INT_MIN: Final = -(2**31)
_INT_MAX: Final = 2**31 - 1
_PARAMETERS_MAX: Final = 1000


class MalformedParameter(Exception):
    """A parameter that is not of its type."""


class MalformedQuery(Exception):
    """A query that is not UTF-8, or has too many parameters."""


class Parameters:
    """The parameters of one query."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        self._values = values

    @classmethod
    def read(cls, query: bytes) -> Self:
        """Read a query string.

        Example:
            >>> Parameters.read(b"subjectPrefix=a%20b+c&deleted").text("subjectPrefix")
            'a b c'

        Raises:
            MalformedQuery: it is not UTF-8, or has too many parameters.
        """
        values: dict[str, list[str]] = {}
        if query:
            pairs = query.split(b"&")
            if len(pairs) > _PARAMETERS_MAX:
                raise MalformedQuery
            try:
                for pair in pairs:
                    name, _, value = pair.partition(b"=")
                    values.setdefault(_decoded(name), []).append(_decoded(value))
            except UnicodeDecodeError as error:
                raise MalformedQuery from error
        return cls(values)

    def replaced(self, name: str, values: Sequence[str]) -> "Parameters":
        """Return the parameters with other values of `name`."""
        return Parameters({**self._values, name: tuple(values)})

    def flag(self, name: str) -> bool:
        text = self.text(name)
        return text is not None and text.lower() == "true"

    def maybe_flag(self, name: str) -> bool | None:
        """Return a flag, or None if the parameter is absent."""
        return self.flag(name) if name in self._values else None

    def integer(self, name: str, default: int) -> int:
        """Return a number, or `default` if the parameter is absent or empty.

        Raises:
            MalformedParameter: it is not a Java int.
        """
        text = self.text(name)
        return default if not text else java_int(text)

    def text(self, name: str) -> str | None:
        found = self._values.get(name)
        return found[0] if found else None

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(self._values.get(name, ()))


def java_int(text: str) -> int:
    """Return the value of a text that Java's `Integer.parseInt` accepts.

    Example:
        >>> java_int("-1"), java_int("007")
        (-1, 7)

    Raises:
        MalformedParameter: it does not.
    """
    if _INT.fullmatch(text) and _INT_MIN <= (number := int(text)) <= _INT_MAX:
        return number
    raise MalformedParameter


def _decoded(text: bytes) -> str:
    return unquote_to_bytes(text.replace(b"+", b" ")).decode()
