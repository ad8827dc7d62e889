"""Functions of texts."""

from collections.abc import Mapping
from typing import Final

from duolog.engine.sql_functions.lowering import Lowering, plain

TEXT_FUNCTIONS: Final[Mapping[str, Lowering]] = {
    "UCASE": plain("upper({0})"),
    "LCASE": plain("lower({0})"),
    "LEN": plain("length({0})"),
    "CONCAT": plain("concat_ws('', {all})"),
}
