"""The result of decoding a record's key or value: columns and conditions."""

from dataclasses import dataclass, field
from typing import Final, Literal

Part = Literal["key", "value"]
"""A record's key or value; in JSON a single key column is a bare value, not an object."""

FALSE: Final = "false"


@dataclass(frozen=True, slots=True)
class Decoded:
    """Bytes as columns, which may refer to the expressions in `parsed` as p0, … from `first` on.

    `why` is the expression of a text that says why bytes are corrupt; null if it is unknown.
    """

    columns: list[str]
    is_null: str
    corrupt: str = FALSE
    parsed: list[str] = field(default_factory=list)
    why: str = ""
