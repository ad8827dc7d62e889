"""Undo Duolog's intentional deviations from Kafka Streams, for comparisons with it.

    joins of streams     a record emitted as unmatched is joined again (KAFKA-19536), and stored for
                         size and grace only
    suppressed windows   a session, and a sliding window, is emitted one millisecond before its
                         aggregate has closed it

`test_emitted_once.py` tests the deviations.
"""

from functools import partial
from typing import Final, cast

import pytest

from duolog.dsl.joins import stream_joins
from duolog.plan.nodes import Suppress
from duolog.plan.windows import SessionWindows, SlidingWindows
from duolog.plan.windows.join_window import JoinWindow

OURS: Final = cast("property", Suppress.delay_ms)


def undo_deviations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_joins, "JoinWindow", partial(JoinWindow, again=True))
    monkeypatch.setattr(Suppress, "delay_ms", property(_delay_ms))


def _delay_ms(node: Suppress) -> int:
    windows = () if node.time_limit_ms is not None else node.windows
    ours: int = OURS.__get__(node)
    return (
        ours - 1 if any(isinstance(of, SessionWindows | SlidingWindows) for of in windows) else ours
    )
