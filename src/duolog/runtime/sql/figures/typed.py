"""Checks that the fields of figures have their types: any client can publish some.

Numbers are finite and have at most 64 bits; texts can be written as UTF-8.
"""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

_INT_MAX: Final = 2**63 - 1


def ensure_typed(value: Any) -> None:
    """Ensure that all fields of a dataclass have their declared types.

    Example:
        >>> from duolog.runtime.sql.figures.query_figures import Flow
        >>> ensure_typed(Flow(1, 2.5))
        >>> ensure_typed(Flow("1", None))
        Traceback (most recent call last):
        ...
        TypeError: '1' is not <class 'int'>

    Raises:
        TypeError, ValueError: one has not.
    """
    for name, hint in _hints(value.__class__).items():
        _ensure(getattr(value, name), hint)


@cache
def _hints(of: Any) -> Mapping[str, Any]:
    hints = get_type_hints(of)
    return {one.name: hints[one.name] for one in fields(of)}


def _ensure(value: Any, hint: Any) -> None:
    parts = get_args(hint)
    match get_origin(hint):
        case None if is_dataclass(hint):
            ensure_typed(value)
        case None if not _is_of(value, hint):
            raise TypeError(f"{value!r:.100} is not {hint}")
        case None:
            pass
        case of if of in (UnionType, Union):  # A type or None.
            if value is not None:
                _ensure(value, parts[0])
        case of if of is Literal:
            if value not in parts:
                raise ValueError(f"{value!r:.100} is not one of {parts}")
        case of if of is tuple:
            for one in value:
                _ensure(one, parts[0])
        case _:
            for name, one in value.items():
                _ensure(name, parts[0])
                _ensure(one, parts[1])


def _is_of(value: object, hint: type) -> bool:
    if isinstance(value, str):
        value.encode()  # Fails with a lone surrogate.
        return hint is str
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if isinstance(value, float):
        return hint is float and math.isfinite(value)
    return hint in (int, float) and abs(value) <= _INT_MAX
