"""Modes of the starts of a test: each start of a query costs seconds of CPU time.

By default one checkpoint goes from micro-batches to real time, so that both modes are there and
what one has kept the other finds. What real time had not committed when it was stopped is read
again in any case.
"""

from typing import Final

import pytest

from duolog.engine.settings import Mode

Modes = tuple[Mode, ...]

_ALONE: Final[tuple[Mode, ...]] = ("micro-batch", "real-time")

TWO_STARTS: Final = pytest.mark.parametrize(
    "modes",
    [
        pytest.param(("micro-batch", "real-time"), id="micro-batch, then real-time"),
        *(
            pytest.param((mode, mode), id=f"{mode} alone", marks=pytest.mark.deep)
            for mode in _ALONE
        ),
    ],
)
