"""What the bytes of a record's half become: columns, and what is to be known of them."""

from dataclasses import dataclass, field
from typing import Final, Literal

Part = Literal["key", "value"]
"""The half of a record; in JSON one key column stands alone, without an object around it."""

FALSE: Final = "false"


@dataclass(frozen=True, slots=True)
class Decoded:
    """Bytes as columns. `columns` may read what stands in `parsed`, as p0, p1, … from `first` on."""

    columns: list[str]
    is_null: str
    corrupt: str = FALSE
    parsed: list[str] = field(default_factory=list)
