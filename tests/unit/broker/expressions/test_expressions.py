"""Regular expressions of clients, matched in a helper process."""

import json
import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import Any, Final

import pytest

from duolog.broker.event_loop.loop import Loop
from duolog.broker.expressions import expressions
from duolog.broker.expressions.expressions import (
    WORKER_COMMAND,
    Expressions,
    HelperFailed,
    InvalidExpression,
)
from duolog.core.clock import SystemClock
from duolog.core.operating_system.proc_files import processor_ns

DEADLINE_S: Final = 60.0
SLOW_TO_COMPILE: Final = "|".join(f"topic{number}.*[a-z]{{1,30}}" for number in range(1_000))
"""6 s or more, without a pause."""


class Matcher:
    """A loop that is turned until an answer is there."""

    def __init__(self, processor_s: float) -> None:
        self.loop = Loop(SystemClock())
        self.expressions = Expressions(self.loop, processor_s)

    def match(self, pattern: str, texts: Iterable[str]) -> Any:
        """Return the texts that match, sorted, or the error."""
        answers: list[Any] = []
        self.expressions.match(pattern, texts, lambda *answer: answers.append(answer))
        until = monotonic() + DEADLINE_S
        while not answers:
            assert monotonic() < until
            self.loop.run_once(1.0)
        ((found, error),) = answers
        return error or sorted(found)

    def close(self) -> None:
        self.expressions.close()
        self.loop.close()


@pytest.fixture
def matcher() -> Iterator[Matcher]:
    made = Matcher(10.0)
    yield made
    made.close()


@pytest.fixture
def hasty() -> Iterator[Matcher]:
    made = Matcher(0.2)
    yield made
    made.close()


def test_whole_texts_match(matcher: Matcher) -> None:
    assert matcher.match("a.*|é\n", ["ab", "ba", "a", "é\n"]) == ["a", "ab", "é\n"]
    assert matcher.match("a.*", []) == []


def test_more_texts_than_one_line_holds(matcher: Matcher) -> None:
    names = [f"{number:06d}" + "x" * 200 for number in range(2_000)]

    assert matcher.match("0000.*", names) == names[:100]


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "(" * 20_000])
def test_an_invalid_expression_is_refused(matcher: Matcher, pattern: str) -> None:
    assert isinstance(matcher.match(pattern, ["a"]), InvalidExpression)
    assert matcher.match("a", ["a"]) == ["a"]


def test_an_expression_that_takes_too_long_is_refused_and_the_next_one_is_served(
    hasty: Matcher,
) -> None:
    error = hasty.match(SLOW_TO_COMPILE, ["a"])

    assert isinstance(error, InvalidExpression)
    assert error.message == "it takes more than 0.2 s of processor time"
    assert hasty.match("a", ["a"]) == ["a"]


def test_texts_that_take_too_long_are_refused(hasty: Matcher) -> None:
    texts = ["ab" * 100 + str(number) for number in range(200_000)]

    assert isinstance(hasty.match("(.*a.{0,200}b.*c){1,4}", texts), InvalidExpression)


def test_leftovers_of_one_budget_do_not_end_the_next_job() -> None:
    """The timer used to run while the next line was read: a large line could kill the process after its job was done."""
    worker = subprocess.Popen(
        [*WORKER_COMMAND, str(os.getpid())], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        long_to_read = json.dumps({"pattern": "a", "processor_s": 10.0, "more": ["x"] * 3_000_000})
        for line in ('{"pattern": "a", "processor_s": 0.02}', '["a"]', long_to_read, '["a"]'):
            worker.stdin.write(line.encode() + b"\n")
            worker.stdin.flush()
            assert worker.stdout.readline() in {b"null\n", b"[0]\n"}
        worker.stdin.close()
        assert worker.wait(DEADLINE_S) == 0


def test_a_process_killed_during_work_is_a_retriable_error(matcher: Matcher) -> None:
    def killed_at_work() -> Iterator[str]:
        yield "a" * 200_000
        assert matcher.expressions.pid is not None
        os.kill(matcher.expressions.pid, signal.SIGKILL)
        yield "a"

    error = matcher.match("a*", killed_at_work())

    assert isinstance(error, HelperFailed)
    assert error.retriable
    assert matcher.match("a", ["a"]) == ["a"]


def test_a_process_that_was_killed_while_idle_is_replaced(matcher: Matcher) -> None:
    matcher.match("a", ["a"])
    helper = matcher.expressions._helper._process  # noqa: SLF001
    assert helper is not None
    before = helper.pid
    helper.kill()
    helper.wait(60)

    assert matcher.match("a", ["a"]) == ["a"]
    assert matcher.expressions.pid != before


@pytest.mark.skipif(processor_ns(os.getpid()) is None, reason="the system does not say it")
def test_a_hung_process_is_killed(matcher: Matcher, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every member with a new expression waited as long as the broker lived."""
    matcher.match("a", ["a"])
    assert matcher.expressions.pid is not None
    os.kill(matcher.expressions.pid, signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr(expressions, "_STILL_S", 0.2)
        error = matcher.match("a", ["a"])

    assert isinstance(error, HelperFailed)
    assert matcher.match("a", ["a"]) == ["a"]


def test_a_stop_does_not_wait_for_an_expression() -> None:
    matcher = Matcher(DEADLINE_S)
    matcher.match("a", ["a"])
    pid = matcher.expressions.pid
    assert pid is not None
    matcher.expressions.match(SLOW_TO_COMPILE * 2, ["a"], lambda *_: None)

    matcher.close()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
