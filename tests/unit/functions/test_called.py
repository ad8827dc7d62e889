"""A called function: its results, and the errors of records for which it fails."""

import asyncio
import datetime as dt
import enum
import functools
import json
import sys
import threading
import time
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from duolog.functions.called import Called, CallError
from duolog.plan.expressions.python_functions import Gathered, Lookups, PythonFunction
from duolog.plan.types import BIGINT, DOUBLE, INT, STRING, Type, parse_type


def lines_of(function: PythonFunction, *rows: list[Any]) -> list[str]:
    """Return a worker's answer for rows of arguments in JSON form."""
    given = json.dumps([{f"a{n}": value for n, value in enumerate(row)} for row in rows])
    lines = Called(function).lines(given.encode(), lambda _count: None)
    return lines.decode().split("\n")[:-1]


def double(n: int | None) -> int | None:
    if n == 13:
        raise ValueError("unlucky\nindeed")
    return None if n is None else 2 * n


def test_a_failing_record_is_reported_and_the_others_are_not_lost() -> None:
    found = lines_of(PythonFunction(double, (BIGINT,), BIGINT), [1], [13], [None], [3])

    assert [found[0], found[2], found[3]] == ['+{"r":2}', '+{"r":null}', '+{"r":6}']
    line = double.__code__.co_firstlineno + 2
    assert found[1] == f"-double (test_called.py:{line}): ValueError: unlucky indeed"


@pytest.mark.parametrize(
    ("of", "given"),
    [
        ("BIGINT", "5"),
        ("BIGINT", 5.0),
        ("BIGINT", True),
        ("BIGINT", 2**63),
        ("INT", 2**31),
        ("DOUBLE", "1"),
        ("STRING", 5),
        ("STRING", b"x"),
        ("BOOLEAN", 1),
        ("BYTES", "x"),
        ("DECIMAL(4,2)", 100),
        ("DECIMAL(4,2)", 1.5),
        ("DATE", dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
        ("TIMESTAMP", dt.datetime(2020, 1, 1)),  # noqa: DTZ001 - that is what is wrong
        ("TIMESTAMP", 0),
        ("ARRAY<BIGINT>", "ab"),
        ("ARRAY<BIGINT>", ["a"]),
        ("MAP<STRING, BIGINT>", [1]),
        ("STRUCT<a BIGINT>", {"b": 1}),
        ("STRUCT<a BIGINT>", 3),
    ],
)
def test_a_value_of_another_type_is_an_error_of_its_record(of: str, given: object) -> None:
    function = PythonFunction(lambda _n: given, (BIGINT,), parse_type(of))

    (line,) = lines_of(function, [1])

    assert line.startswith("-<lambda> (test_called.py")
    assert "is no" in line


@pytest.mark.parametrize(
    ("of", "value", "in_json"),
    [
        ("BIGINT", 2**63 - 1, 2**63 - 1),
        ("DOUBLE", float("inf"), "Infinity"),
        ("DOUBLE", 0.1, 0.1),
        ("STRING", "ä\n\u2028", "ä\n\u2028"),
        ("BYTES", b"\x00\xff", "AP8="),
        ("DECIMAL(38,18)", Decimal("12345678901234567890.123456789012345678"), None),
        ("DATE", dt.date(2013, 1, 1), "2013-01-01"),
        ("TIMESTAMP", dt.datetime(2013, 1, 1, 10, 0, 0, 123456, dt.UTC), None),
        ("ARRAY<DOUBLE>", [1.0, None, float("-inf")], [1.0, None, "-Infinity"]),
        ("MAP<STRING, DATE>", {"a": dt.date(2013, 1, 1), "b": None}, None),
        ("STRUCT<a BIGINT, b ARRAY<BYTES>>", {"a": 1, "b": [b"x", None]}, None),
        ("ARRAY<STRUCT<a DECIMAL(4,2)>>", [{"a": Decimal("1.50")}, {"a": None}, None], None),
    ],
)
def test_values_are_unchanged_by_a_round_trip(of: str, value: object, in_json: object) -> None:
    kind = parse_type(of)
    constant = PythonFunction(lambda _n: value, (BIGINT,), kind)
    seen: list[object] = []
    reading = PythonFunction(seen.append, (kind,), BIGINT)

    (out,) = lines_of(constant, [1])
    written = json.loads(out[1:])["r"]
    back = lines_of(reading, [written])

    assert back == ['+{"r":null}']
    assert seen == [value]
    assert in_json is None or written == in_json


@dataclass
class Order:
    id: int
    item: str | None


def test_a_parameter_can_be_an_object_of_several_columns() -> None:
    def describe(order: Order, value: dict[str, Any]) -> str:
        return f"{order} {value}"

    shape = (Gathered(("id", "item"), Order), Gathered(("n",)))
    function = PythonFunction(describe, (BIGINT, STRING, INT), STRING, shape=shape)

    assert lines_of(function, [7, None, 3]) == ['+{"r":"Order(id=7, item=None) {\'n\': 3}"}']


def test_a_vector_function_is_called_with_halves_to_find_the_failing_record() -> None:
    calls: list[int] = []

    def inverse(numbers: Any) -> Any:
        calls.append(len(numbers))
        if 0 in numbers.to_pylist():
            raise ZeroDivisionError("a zero")
        return [1 / n for n in numbers.to_pylist()]

    class Answers(list[Any]):
        def tolist(self) -> list[Any]:
            return list(self)

    function = PythonFunction(lambda ns: Answers(inverse(ns)), (BIGINT,), DOUBLE, takes="arrow")

    found = lines_of(function, [1], [2], [0], [4])

    assert [found[0], found[1], found[3]] == ['+{"r":1.0}', '+{"r":0.5}', '+{"r":0.25}']
    assert "ZeroDivisionError: a zero" in found[2]
    assert calls == [4, 2, 2, 1, 1]


def test_a_wrong_number_of_results_is_an_error_of_all_records() -> None:
    function = PythonFunction(lambda ns: ns[:1], (BIGINT,), BIGINT, takes="arrow")

    assert lines_of(function, [5]) == ['+{"r":5}']
    (first, second) = lines_of(
        PythonFunction(lambda ns: ns[:0], (BIGINT,), BIGINT, "arrow"), [5], [6]
    )
    assert "returned 0 values for 1 record" in first
    assert "returned 0 values for 1 record" in second


def test_lookups_are_concurrent_and_keep_the_order() -> None:
    at_once = most = 0

    async def slow(n: int) -> int:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.001 * (10 - n))
        at_once -= 1
        return n

    function = PythonFunction(slow, (BIGINT,), BIGINT, lookups=Lookups(limit=4))

    found = lines_of(function, *([n] for n in range(10)))

    assert found == [f'+{{"r":{n}}}' for n in range(10)]
    assert most == 4


def test_a_lookup_is_retried_and_given_up_after_its_timeout() -> None:
    tries: dict[int, int] = {}

    async def flaky(n: int) -> int:
        tries[n] = tries.get(n, 0) + 1
        if n == 2:
            await asyncio.sleep(60)
        if tries[n] <= n:
            raise ConnectionError("gone")
        return n

    how = Lookups(timeout_ms=20, retries=1, pause_ms=1)
    function = PythonFunction(flaky, (BIGINT,), BIGINT, lookups=how)

    first, second, third, fourth = lines_of(function, [0], [1], [2], [3])

    assert (first, second) == ('+{"r":0}', '+{"r":1}')
    assert "no answer within 20 ms, in the last of 2 tries" in third
    assert "ConnectionError: gone, in the last of 2 tries" in fourth


def test_a_blocking_function_can_be_a_lookup() -> None:
    function = PythonFunction(lambda n: n + 1, (BIGINT,), BIGINT, lookups=Lookups(limit=3))

    assert lines_of(function, [1], [2]) == ['+{"r":2}', '+{"r":3}']


async def waits(n: int) -> int:
    if n:
        await asyncio.sleep(60)
    return n


def hangs(n: int) -> int:
    threading.Event().wait(60)
    return n


class Waits:
    async def __call__(self, n: int) -> int:
        await waits(n)
        return n


def test_a_lookup_that_times_out_is_reported_with_its_waiting_line() -> None:
    how = Lookups(timeout_ms=20, retries=0)
    line = waits.__code__.co_firstlineno + 2

    async def client_of(n: int) -> int:
        async with asyncio.timeout(60):
            return await asyncio.wait_for(asyncio.sleep(60, n), 60)

    async def by_hand(n: int) -> int:
        raise TimeoutError

    errors = {
        what: lines_of(PythonFunction(what, (BIGINT,), BIGINT, lookups=how), [1])[0]
        for what in (waits, client_of, hangs, by_hand)
    }

    assert (
        errors[waits]
        == f"-waits (test_called.py:{line}): no answer within 20 ms, in the last of 1 tries"
    )
    at = client_of.__code__.co_firstlineno + 2
    assert errors[client_of].startswith(f"-client_of (test_called.py:{at}): no answer within 20 ms")
    at = hangs.__code__.co_firstlineno
    assert errors[hangs].startswith(f"-hangs (test_called.py:{at}): no answer within 20 ms")
    at = by_hand.__code__.co_firstlineno + 1
    assert errors[by_hand].startswith(f"-by_hand (test_called.py:{at}): TimeoutError")


def test_partials_and_callable_objects_have_a_place() -> None:
    how = Lookups(timeout_ms=20, retries=0)
    line = waits.__code__.co_firstlineno + 2

    (partial,) = lines_of(
        PythonFunction(functools.partial(waits), (BIGINT,), BIGINT, lookups=how), [1]
    )
    (of_object,) = lines_of(PythonFunction(Waits(), (BIGINT,), BIGINT, lookups=how), [1])

    assert f"(test_called.py:{line}): no answer within 20 ms" in partial
    assert f"(test_called.py:{line}): no answer within 20 ms" in of_object


def is_worn(called: Called) -> bool:
    return called.is_worn


def test_hanging_threads_do_not_block_others() -> None:
    how = Lookups(limit=2, timeout_ms=50, retries=1, pause_ms=1)
    released = threading.Event()

    def hangs(n: int) -> int:
        if n > 0:
            released.wait(60)
        return n

    called = Called(PythonFunction(hangs, (BIGINT,), BIGINT, lookups=how))
    try:
        assert called.one([0]) == 0
        assert not is_worn(called)
        with pytest.raises(CallError, match="in the last of 2 tries"):
            called.one([1])
        assert is_worn(called), "two tries hang, and two may look up"

        assert [called.one([-n]) for n in range(3)] == [0, -1, -2]
    finally:
        released.set()
    deadline = time.monotonic() + 60
    while is_worn(called) and time.monotonic() < deadline:
        called.one([0])

    assert not is_worn(called), "what returns after all hangs no more"


@pytest.mark.parametrize("how", [None, Lookups(retries=0)])
def test_a_function_that_calls_exit_fails_for_its_record(how: Any) -> None:
    def leaves(n: int) -> int:
        return sys.exit(3) if n == 1 else n

    async def leaves_later(n: int) -> int:
        await asyncio.sleep(0)
        return leaves(n)

    for function in (leaves, leaves_later) if how else (leaves,):
        found = lines_of(PythonFunction(function, (BIGINT,), BIGINT, lookups=how), [0], [1], [2])

        assert (found[0], found[2]) == ('+{"r":0}', '+{"r":2}')
        assert "(test_called.py:" in found[1]
        assert "): SystemExit: 3" in found[1]


@pytest.mark.parametrize("of", [BIGINT, DOUBLE])
def test_tests_without_workers_behave_the_same(of: Type) -> None:
    called = Called(PythonFunction(double, (BIGINT,), of))

    assert called.one([4]) == 8
    with pytest.raises(CallError, match="ValueError: unlucky"):
        called.one([13])


class Colour(enum.IntEnum):
    RED = 7


class Unsaid(Exception):
    def __str__(self) -> str:
        raise OSError("no")


def test_an_int_enum_member_becomes_its_number() -> None:
    """It was null, without an error."""
    for of in (INT, BIGINT):
        assert lines_of(PythonFunction(lambda _n: Colour.RED, (BIGINT,), of), [1]) == ['+{"r":7}']


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (GeneratorExit(), "GeneratorExit"),
        (asyncio.CancelledError(), "CancelledError"),
        (BaseException("mine"), "BaseException: mine"),
        (Unsaid(), "Unsaid: its __str__ raised OSError"),
        (ValueError("x" * 10_000_000), f"ValueError: {'x' * 2000}… (10,000,000 characters)"),
    ],
)
def test_any_exception_fails_its_record_with_one_line(error: BaseException, expected: str) -> None:
    def failing(n: int) -> int:
        if n == 1:
            raise error
        return n

    found = lines_of(PythonFunction(failing, (BIGINT,), BIGINT), [0], [1], [2])

    assert (found[0], found[2]) == ('+{"r":0}', '+{"r":2}')
    assert found[1].endswith(f"): {expected}")
