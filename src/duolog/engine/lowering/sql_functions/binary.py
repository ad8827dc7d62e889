"""Numbers that are encoded in bytes."""

from collections.abc import Mapping, Sequence
from typing import Final

from duolog.engine.lowering.sql_functions.lowering import Lowering
from duolog.plan.types import Type


def _number(name: str) -> Lowering:
    def lower(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
        value, order = (*args, "'BIG_ENDIAN'")[:2]
        return f"duolog_bytes_{name}({value}, {order})"

    return lower


BYTES_FUNCTIONS: Final[Mapping[str, Lowering]] = {
    f"{of}_FROM_BYTES": _number(of.lower()) for of in ("INT", "BIGINT", "DOUBLE")
}
