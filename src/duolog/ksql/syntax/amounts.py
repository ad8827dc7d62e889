"""Limits of what one text of statements may cost.

    a text        1,000 statements, 100,000 tokens; after the substitution of variables
    a statement   20,000 tokens
    variables     1 MiB of values, and 4 MiB of text after their substitution
    types         20,000 fields of a source or type, those of the types that it names included

A parsed token needs some 5 KB until its statement is planned, and a variable that repeats another
one grows tenfold with each statement: without limits, a request of a kilobyte takes all memory.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from duolog.core.units import MIB
from duolog.ksql.errors import SqlError
from duolog.plan.types import Array, Map, Struct, Type

STATEMENTS_MAX: Final = 1_000
TOKENS_MAX: Final = 100_000
STATEMENT_TOKENS_MAX: Final = 20_000
VARIABLES_MAX: Final = MIB
SUBSTITUTED_MAX: Final = 4 * MIB
FIELDS_MAX: Final = 20_000

_TOKENS: Final = re.compile(
    r"'(?:[^']|'')*+'?" r'|"[^"]*+"?|`[^`]*+`?' r"|--[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+|\w++|[^\w\s]"
)
"""Each alternative consumes what it looks at: the time is linear in the length of any text."""


class Amount:
    """The statements and tokens of one text so far."""

    def __init__(self) -> None:
        self._statements = 0
        self._tokens = 0

    def take(self, text: str) -> None:
        """Count the statements and tokens of a text before it is parsed.

        Raises:
            SqlError: there are too many.
        """
        of_statement = 0
        for token in _TOKENS.finditer(text):
            of_statement += 1
            self._tokens += 1
            if of_statement > STATEMENT_TOKENS_MAX:
                raise _too_many(f"A statement has more than {STATEMENT_TOKENS_MAX} tokens")
            if self._tokens > TOKENS_MAX:
                raise _too_many(f"The statements have more than {TOKENS_MAX} tokens")
            if token.group() == ";":
                of_statement = 0
                self._statements += 1
                if self._statements > STATEMENTS_MAX:
                    raise _too_many(f"There are more than {STATEMENTS_MAX} statements")


def ensure_variables(variables: Mapping[str, str]) -> None:
    """Ensure that the values of variables are small together.

    Raises:
        SqlError: they have more than `VARIABLES_MAX` characters.
    """
    if sum(map(len, variables.values())) > VARIABLES_MAX:
        raise SqlError(
            f"The values of variables have more than {VARIABLES_MAX} characters",
            hint="Remove variables with UNDEFINE, or use shorter values.",
        )


def ensure_fields(of: str, types: Iterable[Type]) -> None:
    """Ensure that types are small together: a type can name another one many times.

    Raises:
        SqlError: they have more than `FIELDS_MAX` fields and elements; `of` is in the message.
    """
    waiting, count = list(types), 0
    while waiting:
        count += 1
        if count > FIELDS_MAX:
            raise SqlError(
                f"{of} has more than {FIELDS_MAX} fields, those of the named types included"
            )
        match waiting.pop():
            case Array(element=element):
                waiting.append(element)
            case Map(key=key, value=value):
                waiting += key, value
            case Struct(fields=fields):
                waiting += (field.type for field in fields)


def _too_many(what: str) -> SqlError:
    return SqlError(what, hint="Send the statements in several requests, or shorten lists of IN.")
