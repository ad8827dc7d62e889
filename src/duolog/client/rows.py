"""A row of a result: a tuple whose values have names."""

from collections.abc import Iterator
from typing import Any, SupportsIndex, overload


class Row(tuple[Any, ...]):  # noqa: SLOT001 - a tuple of any length has no slots
    """A tuple of values, also by name: `row["TOTAL"]`, `row.total`.

    Names are those of the columns. Without an exact match, upper and lower case do not differ.
    A column with the name of a method, such as `count`, is found by `row["count"]` only.

    Example:
        >>> row = Row.of(("ID", "TOTAL"), ("a", 3))
        >>> row[0], row["TOTAL"], row.total, dict(row.items())
        ('a', 3, 3, {'ID': 'a', 'TOTAL': 3})
    """

    _names: tuple[str, ...]

    @classmethod
    def of(cls, names: tuple[str, ...], values: "tuple[Any, ...] | list[Any]") -> "Row":
        """Return a row."""
        row = cls(values)
        row._names = names
        return row

    def keys(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return self._names

    def items(self) -> Iterator[tuple[str, Any]]:
        """Return pairs of name and value."""
        return zip(self._names, self, strict=True)

    def asdict(self) -> dict[str, Any]:
        """Return the values by name."""
        return dict(self.items())

    @overload
    def __getitem__(self, at: SupportsIndex | str, /) -> Any: ...
    @overload
    def __getitem__(self, at: slice, /) -> tuple[Any, ...]: ...
    def __getitem__(self, at: SupportsIndex | slice | str, /) -> Any:
        if isinstance(at, str):
            place = self._place(at)
            if place is None:
                raise KeyError(at)
            return tuple.__getitem__(self, place)
        return tuple.__getitem__(self, at)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        place = self._place(name)
        if place is None:
            known = ", ".join(self._names)
            raise AttributeError(f"the row has no column {name!r}; it has {known}")
        return tuple.__getitem__(self, place)

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{name}={value!r}' for name, value in self.items())})"

    def __reduce__(self) -> Any:
        return Row.of, (self._names, tuple(self))

    def _place(self, name: str) -> int | None:
        names = self._names
        if name in names:
            return names.index(name)
        folded = [one for one, other in enumerate(names) if other.upper() == name.upper()]
        return folded[0] if len(folded) == 1 else None
