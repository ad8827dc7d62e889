"""Keys and values of stores as bytes, and in Python.

key     ("ann", 3)  ↔  ["ann",3]          one column: the value itself, "ann"
value   {"n": 1}    ↔  {"n":1}            one column: the value itself, 1  ↔  1
"""

import json
from decimal import Decimal as PythonDecimal

from duolog.core.errors import StatementError
from duolog.functions import values
from duolog.plan.processors import KeptStore, struct_of
from duolog.plan.types import Column, Type
from duolog.serde.row import Row


class Codec:
    """Encodes and decodes values of one type. Threads: any."""

    def __init__(self, of: Type) -> None:
        self.check = values.plain(of)
        self.text = values.text(of)
        self.read = values.from_json(of)
        exact = values.has_decimal(of)
        decoder = json.JSONDecoder(parse_float=PythonDecimal) if exact else json.JSONDecoder()
        self.parse = decoder.decode

    def encode(self, value: object) -> str:
        """Return a value as JSON.

        Raises:
            WrongType: it is not of the type.
        """
        checked = self.check(value)
        return "null" if checked is None else self.text(checked)

    def decode(self, parsed: object) -> object:
        """Return the value of parsed JSON."""
        return parsed if parsed is None or self.read is None else self.read(parsed)


class ColumnsCodec:
    """Checks the value of a record: a dict by column name."""

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self._columns = columns
        self._check = values.plain(struct_of(columns))

    def checked(self, value: object) -> dict[str, object] | None:
        """Return a value by column; None for a null value.

        Raises:
            StatementError: a value is given without the name of its column.
            WrongType: it is not of the type.
        """
        try:
            checked: dict[str, object] | None = self._check(value)
        except values.WrongType as error:
            if error.of != struct_of(self._columns):
                raise
            raise self._without_names(value) from None
        return checked

    def _without_names(self, value: object) -> StatementError:
        names = [column.name for column in self._columns]
        if len(names) == 1:
            hint = f'Use {{"{names[0]}": {values.shown(value)}}}.'
        else:
            hint = f"Use {_by_name(names)}."
        return StatementError(
            f"{values.shown(value)} is not a value of columns {', '.join(names)}",
            detail="The value of a record must be a dict by column name.",
            hint=hint,
        )


class KeyCodec:
    """Keys of a store. Equal keys have equal bytes."""

    def __init__(self, store: KeptStore) -> None:
        self._store = store
        self._columns = [Codec(column.type) for column in store.key]
        exact = any(values.has_decimal(column.type) for column in store.key)
        self._parse = (
            json.JSONDecoder(parse_float=PythonDecimal) if exact else json.JSONDecoder()
        ).decode

    def encode(self, key: object) -> bytes:
        """Return the bytes of a key.

        Raises:
            StatementError: it is null, or has the wrong number of columns.
            WrongType: a column is not of its type.
        """
        if len(self._columns) == 1:
            (only,) = self._columns
            if key is None:
                raise self._null()
            return f"[{only.encode(key)}]".encode()
        if not isinstance(key, tuple) or len(key) != len(self._columns):
            raise StatementError(
                f'{key!r} is not a key of store "{self._store.name}"',
                detail="It must be a tuple of "
                f"{', '.join(column.name for column in self._store.key)}.",
            )
        if all(part is None for part in key):
            raise self._null()
        parts = (codec.encode(part) for codec, part in zip(self._columns, key, strict=True))
        return f"[{','.join(parts)}]".encode()

    def decode(self, data: bytes) -> Row:
        """Return the columns of a key."""
        parsed = self._parse(data.decode())
        return tuple(codec.decode(part) for codec, part in zip(self._columns, parsed, strict=True))

    def _null(self) -> StatementError:
        return StatementError(
            f'a key of store "{self._store.name}" is null',
            hint="Check if record.key is None first.",
        )


class ValueCodec:
    """Values of a store."""

    def __init__(self, store: KeptStore) -> None:
        self._alone = len(store.value) == 1
        self._store = store
        self._of = store.value[0].type if self._alone else struct_of(store.value)
        self._codec = Codec(self._of)
        self.names = [column.name for column in store.value]
        self.parse = self._codec.parse

    def encode(self, value: object) -> str:
        """Return a value as JSON.

        Raises:
            StatementError: it has names for a single column, or lacks the names of several.
            WrongType: it is not of the type.
        """
        try:
            return self._codec.encode(value)
        except values.WrongType as error:
            if error.of != self._of:
                raise
            raise self._misnamed(value, error) from None

    def _misnamed(self, value: object, error: values.WrongType) -> Exception:
        given = values.shown(value)
        if self._alone and isinstance(value, dict) and list(value) == self.names:
            return StatementError(
                f'{given} is not a value of store "{self._store.name}"',
                detail="A value of one column is stored without its name.",
                hint=f"Use {values.shown(value[self.names[0]])}.",
            )
        if self._alone:
            return error
        return StatementError(
            f'{given} is not a value of store "{self._store.name}"',
            detail="A value of several columns must be a dict.",
            hint=f"Use {_by_name(self.names)}.",
        )

    def decode(self, parsed: object) -> object:
        return self._codec.decode(parsed)

    def row(self, parsed: object) -> Row:
        """Return the columns of parsed JSON."""
        value = self.decode(parsed)
        if self._alone:
            return (value,)
        assert isinstance(value, dict), value
        return tuple(value[name] for name in self.names)


def _by_name(names: list[str]) -> str:
    pairs = ", ".join(f'"{name}": …' for name in names)
    return f"{{{pairs}}}"
