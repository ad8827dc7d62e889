"""Pinned texts: the form in which a checkpoint records the expressions of its program.

    with pinned_texts():             expressions that are lowered in here get their pinned texts
        spec = lower(levels, …)      to be compared, never to be run
    with unpinned_texts():           the texts of versions before pinned texts, to be compared too

A layout (`store_layouts`) describes stored columns by their expressions, as Spark SQL. A new
version of Duolog may lower an expression differently. The program is still the same, so its
checkpoint must still fit: each expression keeps the text of its first lowering as its *pinned
text*. Versions between b506ee0 and ADR 0099 wrote the texts that they ran with, and these texts are
kept too. If you change a lowering, add the old one: in `sql_functions.pinned` if it is a whole
function, else in a branch on `are_pinned`; if both kinds of texts had the old form, branch on
`are_compared`. `tests/unit/engine/lowering/spark_sql/test_pinned_texts.py` lists all texts.
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from enum import Enum
from typing import Final


class _Texts(Enum):
    RUN = "run"
    PINNED = "pinned"
    UNPINNED = "unpinned"


_WANTED: Final = ContextVar("texts", default=_Texts.RUN)


@contextlib.contextmanager
def _wanted(texts: _Texts) -> Iterator[None]:
    before = _WANTED.set(texts)
    try:
        yield
    finally:
        _WANTED.reset(before)


def pinned_texts() -> contextlib.AbstractContextManager[None]:
    """Lower expressions to their pinned texts in this thread within the block."""
    return _wanted(_Texts.PINNED)


def unpinned_texts() -> contextlib.AbstractContextManager[None]:
    """Lower to the texts of versions before pinned texts, in this thread within the block."""
    return _wanted(_Texts.UNPINNED)


def are_pinned() -> bool:
    """Return whether expressions get their pinned texts."""
    return _WANTED.get() is _Texts.PINNED


def are_compared() -> bool:
    """Return whether expressions are lowered to be compared with a checkpoint, and not to run."""
    return _WANTED.get() is not _Texts.RUN
