"""Payloads in JSON: objects by the names of fields. The writer's schema is not needed to read."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import NoReturn

from duolog.schemas.classes.json_values import FromJson, ToJson
from duolog.schemas.classes.shapes import RecordOf
from duolog.schemas.schema import Schema


class JsonPayloads:
    """Writes instances as JSON, and reads them."""

    def __init__(self, shape: RecordOf, _text: str) -> None:
        self._write = ToJson().of(shape, "")
        self._read = FromJson().of(shape, "")

    def encode(self, value: object) -> bytes:
        """Return the payload of an instance."""
        return _dumped(self._write(value)).encode()

    def decoder(self, _writer: Schema | None) -> Callable[[bytes], object]:
        """Return the function that reads payloads."""

        def decode(payload: bytes) -> object:
            return self._read(
                json.loads(payload, parse_float=Decimal, parse_constant=_not_a_number)
            )

        return decode


def _not_a_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _dumped(value: object) -> str:
    """Return JSON in which decimals have all their digits, which `json.dumps` does not write."""
    match value:
        case Decimal():
            return f"{value:f}"
        case list():
            return f"[{','.join(map(_dumped, value))}]"
        case dict():
            parts = (f"{_dumped(name)}:{_dumped(one)}" for name, one in value.items())
            return f"{{{','.join(parts)}}}"
        case _:
            return json.dumps(value, ensure_ascii=False)
