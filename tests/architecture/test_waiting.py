"""No test depends on speed: sleeps, short deadlines and assertions on elapsed time are counted, and only get fewer.

    sleep       a call of `sleep` outside of a loop, also in a program that a test writes down as text
    poll        a call of `sleep` in a `while` loop of a test's own: a condition is polled, but not with the helper
    deadline    a deadline or time limit below 30 s that a test waits for: `time.monotonic() + 5`, `timeout=5`,
                `event.wait(5)`, `thread.join(5)`, `future.result(5)`; below 60 s of
                `pytest.mark.timeout`. A second or less in a loop is not a deadline, but the rate at
                which the loop asks again
    elapsed     an assertion on measured time

A test waits for an event, or with `waiting.wait_until` for a condition. What is left is in ALLOWED
with the reason why it does not race. A file with other counts than its row fails in both
directions: lower the row when a count falls.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from architecture.waiting_allowed import ALLOWED, Counts

ROOT: Final = Path(__file__).parents[2]
TESTS: Final = ROOT / "tests"
DEADLINE_S: Final = 30
MARK_S: Final = 60
PACE_S: Final = 1.1
CLOCKS: Final = {"monotonic", "perf_counter", "monotonic_ns", "perf_counter_ns"}
WAITS: Final = {
    *(
        "wait",
        "join",
        "result",
        "acquire",
        "exception",
        "settimeout",
        "wait_settled",
        "wait_until_caught_up",
    ),
    *("flush", "poll", "init_transactions", "commit_transaction", "abort_transaction"),
}
WAITS_OF_ASYNCIO: Final = {"asyncio.wait_for", "asyncio.timeout", "asyncio.wait"}
# Fields of requests to a broker, and settings with a clock of their own, have such names too.
NOT_WAITS: Final = {"ask", "frame", "send", "Restarts"}
LIMITS: Final = {"timeout", "timeout_s", "timeout_seconds", "deadline_s"}
# The helper itself, the samples of this test, and the tests of the samples.
NOT_COUNTED: Final = {
    "waiting.py",
    "architecture/test_waiting.py",
    "architecture/waiting_allowed.py",
}


class Place(NamedTuple):
    """Something that may race."""

    kind: str
    line: int


def places_in(text: str) -> Iterator[Place]:
    """Return what may race in a file."""
    tree = ast.parse(text)
    numbers = _constants(tree)
    polls = {
        inner for loop in ast.walk(tree) if isinstance(loop, ast.While) for inner in ast.walk(loop)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call() if _name(node) == "sleep":
                yield Place("poll" if node in polls else "sleep", node.lineno)
            case ast.Call():
                yield from (
                    Place(kind, node.lineno)
                    for kind in _kinds_of_call(node, numbers, in_loop=node in polls)
                )
            case ast.BinOp(left=ast.Call() as clock, op=ast.Add(), right=limit) if _name(
                clock
            ) in CLOCKS and _short(limit, numbers):
                yield Place("deadline", node.lineno)
            case ast.Assert(test=test) if _measures(test):
                yield Place("elapsed", node.lineno)
            case ast.Constant(value=str() as string):
                for offset, line in enumerate(string.splitlines()):
                    yield from [Place("sleep", node.lineno + offset)] * line.count("sleep(")


def _kinds_of_call(call: ast.Call, numbers: Mapping[str, float], *, in_loop: bool) -> Iterator[str]:
    name = _name(call)
    limits = [keyword.value for keyword in call.keywords if keyword.arg in LIMITS]
    if isinstance(call.func, ast.Attribute) and ast.unparse(call.func).endswith("mark.timeout"):
        if any(_short(limit, numbers, MARK_S) for limit in [*call.args, *limits]):
            yield "deadline"
    elif name in NOT_WAITS:
        return
    elif any(_short(limit, numbers) for limit in limits):
        yield "deadline"
    elif name in WAITS or ast.unparse(call.func) in WAITS_OF_ASYNCIO:
        # A second or less in a loop is the pace at which it asks again.
        paced = in_loop and _short(call.args[-1], numbers, PACE_S) if call.args else False
        if call.args and _short(call.args[-1], numbers) and not paced:
            yield "deadline"


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _constants(tree: ast.Module) -> dict[str, float]:
    """Return the numbers that the file gives names to."""
    found: dict[str, float] = {}
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign(
                target=ast.Name(id=name), value=ast.Constant(value=int() | float() as number)
            ):
                found[name] = number
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Constant(value=int() | float() as number)
            ):
                found[name] = number
    return found


def _short(limit: ast.expr, numbers: Mapping[str, float], least: float = DEADLINE_S) -> bool:
    """Return whether it is a number of seconds below the least; 0 asks once and waits for nothing."""
    match limit:
        case ast.Constant(value=bool()):
            return False
        case ast.Constant(value=int() | float() as number):
            return 0 < number < least
        case ast.Name(id=name):
            return 0 < numbers.get(name, 0) < least
        case _:
            return False


def _measures(test: ast.expr) -> bool:
    """Return whether the assertion compares a difference to a clock: `monotonic() - begun < 5`."""
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and isinstance(node.left, ast.Call)
        and _name(node.left) in {*CLOCKS, "time"}
        for node in ast.walk(test)
    )


def counts_in(text: str) -> Counts:
    """Return how often each kind occurs."""
    kinds = Counter(place.kind for place in places_in(text))
    return Counts(**{kind: kinds[kind] for kind in Counts._fields})


def _counted_files() -> dict[str, str]:
    found = {path.relative_to(TESTS).as_posix(): path for path in sorted(TESTS.rglob("*.py"))}
    return {name: path.read_text() for name, path in found.items() if name not in NOT_COUNTED}


def test_the_number_of_allowed_waits_only_shrinks() -> None:
    found = {name: counts_in(text) for name, text in _counted_files().items()}

    wrong = [
        f"{name}: found {counts}, allowed {allowed}; lines "
        + ", ".join(
            f"{place.line} ({place.kind})" for place in places_in((TESTS / name).read_text())
        )
        for name, counts in found.items()
        if counts != (allowed := ALLOWED[name].counts if name in ALLOWED else Counts())
    ]

    assert wrong == [], (
        "use tests/waiting.py instead; if a count fell, lower the row in waiting_allowed.py"
    )


def test_the_list_names_files_that_are_there_with_a_reason() -> None:
    files = _counted_files()

    assert [name for name in ALLOWED if name not in files] == []
    assert [
        name for name, row in ALLOWED.items() if len(row.why) < 15 or row.counts == Counts()
    ] == []


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("time.sleep(1)", Counts(sleep=1)),
        ("await asyncio.sleep(0.1)", Counts(sleep=1)),
        ("sleep(1)", Counts(sleep=1)),
        ("while not done:\n    sleep(1)", Counts(poll=1)),
        ('program = "import time; time.sleep(1)"', Counts(sleep=1)),
        ("deadline = time.monotonic() + 5", Counts(deadline=1)),
        ("deadline = time.monotonic() + 60", Counts()),
        ("WAIT_S: Final = 10\ndeadline = time.monotonic() + WAIT_S", Counts(deadline=1)),
        ("event.wait(5)", Counts(deadline=1)),
        ("event.wait(timeout=60)", Counts()),
        ("thread.join(5)", Counts(deadline=1)),
        ("queue.get(timeout=5)", Counts(deadline=1)),
        ("answers.get(5)", Counts()),
        ("await asyncio.wait_for(x, 5)", Counts(deadline=1)),
        ("subprocess.run(x, timeout=20)", Counts(deadline=1)),
        ("queue.get(timeout=0)", Counts()),
        ("while not done:\n    consumer.poll(0.1)", Counts()),
        ("consumer.poll(0.1)", Counts(deadline=1)),
        ("pytestmark = pytest.mark.timeout(40)", Counts(deadline=1)),
        ("pytestmark = pytest.mark.timeout(60)", Counts()),
        ("assert time.monotonic() - begun < 3", Counts(elapsed=1)),
        ("assert time.monotonic() < deadline", Counts()),
    ],
)
def test_each_kind_is_found(text: str, counts: Counts) -> None:
    assert counts_in(text) == counts
