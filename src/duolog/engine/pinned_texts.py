"""The texts by which a checkpoint knows the expressions of its program.

    with pinned_texts():             expressions that are lowered in here get their pinned texts
        spec = lower(levels, …)      to be compared, never to be run

A layout (`store_layouts`) describes stored columns by their expressions, as Spark SQL. A new version of Duolog may lower
an expression differently. The program is still the same, so its checkpoint must still fit: each expression keeps the
text of its first lowering as its *pinned text*. Whoever changes a lowering adds the old one: in `sql_functions.pinned`
if it is a whole function, else in a branch on `are_pinned`. `tests/unit/engine/test_pinned_texts.py` lists all texts.
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Final

_PINNED: Final = ContextVar("pinned texts", default=False)


@contextlib.contextmanager
def pinned_texts() -> Iterator[None]:
    """Give expressions that are lowered meanwhile in this thread their pinned texts."""
    before = _PINNED.set(True)
    try:
        yield
    finally:
        _PINNED.reset(before)


def are_pinned() -> bool:
    """Return whether expressions are lowered to be compared with a checkpoint."""
    return _PINNED.get()
