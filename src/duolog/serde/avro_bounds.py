"""Read Avro with fastavro, at a cost that the length of the bytes bounds.

    deep data of a recursive schema      the compiled reader has no limit of depth; the one in
                                         Python ends with a RecursionError
    80 80 80 80 80 40, an array of null  a block of 2^39 items in six bytes

fastavro reads as many items as a block claims. If each item has a byte, the bytes end soon. Values
of schemas with other arrays are walked first; the kernel's `AvroInput` has the same limit.

Source: the Avro specification, "Binary Encoding".
"""

import io
from collections.abc import Callable
from typing import Any, Final

import fastavro
from fastavro import _read_py

from duolog.schemas.avro import types as avro

EMPTY_ITEMS_MAX: Final = 100_000
"""The largest number of items without bytes in one value."""
_SIZES: Final = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_NUMBER_BYTES_MAX: Final = 10


def bounded_reader(
    writer: avro.Type, parsed: Any, wanted: Any = None, *, named: bool = True
) -> Callable[[bytes], Any]:
    """Return the function that reads values which were written with a schema.

    What it raises for damaged bytes is an Exception of any kind, as in fastavro.

    Args:
        writer: the type of the values.
        parsed: the schema that they were written with, as fastavro parses it.
        wanted: the schema to read them with; None for `parsed`.
        named: return values of named types in unions as tuples with the name.
    """
    ensure_bounded = _bound_of(writer)
    reads = _read_py.schemaless_reader if is_recursive(writer) else fastavro.schemaless_reader

    def read(data: bytes) -> Any:
        ensure_bounded(data)
        return reads(io.BytesIO(data), parsed, wanted, return_named_type=named)

    return read


def is_recursive(root: avro.Type) -> bool:
    """Return True if a type contains itself."""
    done: set[int] = set()
    inside: set[int] = set()
    # A node is entered, and left after its parts.
    waiting: list[tuple[avro.Type, bool]] = [(root, False)]
    while waiting:
        node, leaves = waiting.pop()
        if leaves:
            inside.discard(id(node))
            done.add(id(node))
        elif id(node) in inside:
            return True
        elif id(node) not in done:
            inside.add(id(node))
            waiting.append((node, True))
            waiting += [(part, False) for part in avro.parts(node)]
    return False


def _bound_of(root: avro.Type) -> Callable[[bytes], None]:
    """Return the check of values, which does nothing if no item of an array can be empty.

    It raises a ValueError if a value has too many empty items, or is damaged.
    """
    nodes = avro.reachable(root)
    if not any(isinstance(node, avro.Array) and _is_empty(node.items, ()) for node in nodes):
        return _nothing
    return lambda data: _Walk(data).skip(root)


def _nothing(_data: bytes) -> None:
    pass


def _is_empty(node: avro.Type, around: tuple[avro.Type, ...]) -> bool:
    """Return whether values of a type have no bytes."""
    match node:
        case avro.Fixed():
            return node.size == 0
        case avro.Record():
            inside = (*around, node)
            return node not in around and all(_is_empty(part, inside) for part in avro.parts(node))
        case _:
            return node.kind == "null"


class _Walk:
    """A position in the bytes of a value, and the number of empty items before it."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._empty_items = 0

    def skip(self, node: avro.Type) -> None:
        """Move to the end of a value of a type."""
        match node:
            case avro.Record():
                for each in node.fields:
                    self.skip(each.type)
            case avro.Union():
                number = self._number()
                if not 0 <= number < len(node.branches):
                    raise ValueError(f"a union has no type {number}")
                self.skip(node.branches[number])
            case avro.Array():
                self._skip_items(node.items, has_keys=False)
            case avro.Map():
                self._skip_items(node.values, has_keys=True)
            case avro.Fixed():
                self._advance(node.size)
            case _ if node.kind in _SIZES:
                self._advance(_SIZES[node.kind])
            case _ if node.kind in {"bytes", "string"}:
                self._advance(self._number())
            case _:
                self._number()

    def _skip_items(self, item: avro.Type, *, has_keys: bool) -> None:
        is_empty = not has_keys and _is_empty(item, ())
        while count := self._number():
            if count < 0:
                count = -count
                self._number()  # The size of the block, which is not trusted.
            if is_empty:
                self._empty_items += count
                if self._empty_items > EMPTY_ITEMS_MAX:
                    raise ValueError(f"it has more than {EMPTY_ITEMS_MAX} items without bytes")
                continue
            for _ in range(count):
                if has_keys:
                    self._advance(self._number())
                self.skip(item)

    def _advance(self, size: int) -> None:
        if not 0 <= size <= len(self._data) - self._at:
            raise ValueError("the bytes end too early")
        self._at += size

    def _number(self) -> int:
        bits = 0
        for place in range(_NUMBER_BYTES_MAX):
            self._advance(1)
            one = self._data[self._at - 1]
            bits |= (one & 0x7F) << 7 * place
            if one < 0x80:
                return (bits >> 1) ^ -(bits & 1)
        raise ValueError("a number has too many bytes")
