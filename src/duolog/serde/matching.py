"""Match the fields of a writer's schema with columns, and read unscaled decimals."""

from decimal import Decimal

from duolog.core.types import Column
from duolog.serde import text_numbers


def fields_by_name(names: list[str], columns: tuple[Column, ...]) -> dict[str, str]:
    """Return the name of the field for each column that has one.

    Example:
        >>> from duolog.core.types import INT
        >>> fields_by_name(["a", "A", "b"], (Column("A", INT), Column("B", INT), Column("C", INT)))
        {'A': 'A', 'B': 'b'}
    """
    loosely = {name.upper(): name for name in names}
    found = {
        column.name: column.name if column.name in names else loosely.get(column.name.upper())
        for column in columns
    }
    return {column: name for column, name in found.items() if name is not None}


def decimal_of(unscaled: bytes, scale: int) -> Decimal:
    r"""Return the decimal of an unscaled number in bytes, the sign in the first bit.

    Example:
        >>> decimal_of(b"\xff\x85", 2)
        Decimal('-1.23')
    """
    number = int.from_bytes(unscaled, "big", signed=True)
    if number == 0 and scale < 0:
        return Decimal(0)  # Larger scales are out of the range of Python's decimals.
    return Decimal(number).scaleb(-scale, context=text_numbers.EXACT)
