"""Mutated requests end their own connection or are answered; no handler meets what it did not expect."""

from typing import Any

import pytest

from duolog.broker.requests import api
from fault.mutated_frames import FRAMES_OF_A_BROKER, send_mutated

FRAMES = 1_000_000
PART = 50_000


def test_mutated_frames_harm_no_other_client() -> None:
    outcome = send_mutated(range(FRAMES_OF_A_BROKER))

    assert outcome.problems == []
    assert outcome.frames == FRAMES_OF_A_BROKER
    assert outcome.answered > FRAMES_OF_A_BROKER // 20
    assert outcome.closed > FRAMES_OF_A_BROKER // 4


@pytest.mark.deep
@pytest.mark.parametrize("first", range(0, FRAMES, PART))
def test_a_million_mutated_frames_harm_no_other_client(first: int) -> None:
    assert send_mutated(range(first, first + PART)).problems == []


def test_an_exception_that_no_handler_expects_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(broker: Any, _: object, context: object) -> None:
        broker.refuse(context, KeyError("planted"))

    monkeypatch.setattr(api, "_run_handler", refuse)

    assert any("planted" in one for one in send_mutated(range(200)).problems)
