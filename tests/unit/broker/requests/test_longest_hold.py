"""Nothing holds the loop: every API with a large request, and the longest round that it takes.

A request is made of its schema: each array has very many items, once in its outermost arrays and
once in its innermost ones. What is measured is processor time of the loop's thread, so that a
machine that does other things says the same.
"""

import contextlib
import dataclasses
import gc
import sys
from collections.abc import Iterator
from time import thread_time
from typing import Any, Final, get_args, get_origin, get_type_hints
from uuid import UUID

import pytest
from crc32c import crc32c

from duolog.broker.requests.api import Api
from duolog.broker.router import find_apis
from duolog.protocol.encoder import without_none
from duolog.protocol.messages import entity_type
from duolog.record import Compression, Record, encode_batch
from unit.broker.conftest import Client, Harness
from unit.broker.transactional_producer import coordinate

ITEMS: Final = 3_000
HOLD_S: Final = 0.020

APIS: Final = find_apis()

NOT_YET: Final = {"Fetch": 0.1, "Metadata": 0.1, "Produce": 0.1}
"""What works through all of a request in one round, and how long it may: some microseconds for each item."""


def value_of(type_: Any, number: int, arrays: list[int]) -> Any:
    """Return a value of a field's type; `arrays` has the lengths of the arrays still to come."""
    inner, _ = without_none(type_)
    if get_origin(inner) is tuple:
        (length, *rest) = arrays or [1]
        item, _ = without_none(get_args(inner)[0])
        return [value_of(item, index, rest) for index in range(length)]
    if dataclasses.is_dataclass(inner):
        hints = get_type_hints(inner)
        return {
            field.name: value_of(hints[field.name], number, arrays)
            for field in dataclasses.fields(inner)
            if field.metadata.get("tag") is None
        }
    supertype = inner
    while hasattr(supertype, "__supertype__"):
        supertype = supertype.__supertype__
    if issubclass(supertype, str):
        return f"t{number}" if number else "t"
    plain = {
        bytes: b"",
        bool: False,
        int: number % 5 if inner.__name__ == "i8" else number,
        UUID: None,
    }
    return next((value for kind, value in plain.items() if issubclass(supertype, kind)), 0)


def large(api: Api, arrays: list[int]) -> dict[str, Any]:
    version = api.versions[-1]
    found: dict[str, Any] = value_of(entity_type(api.key, version, "request"), 0, arrays)
    return found


@pytest.fixture(scope="module")
def quick_switch() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    yield
    sys.setswitchinterval(before)


def longest_round(harness: Harness, client: Client, frame: bytes) -> float:
    """Return the longest round until the answer is there, or the connection is closed."""
    rest, longest = memoryview(frame), 0.0
    gc.collect()
    gc.disable()
    try:
        while not client.connection.closed and (rest or not client.whole_answer()):
            with contextlib.suppress(BlockingIOError):
                rest = rest[client.socket.send(rest) :] if rest else rest
            began = thread_time()
            harness.broker.loop.run_once(0.02)
            longest = max(longest, thread_time() - began)
    finally:
        gc.enable()
    return longest


@pytest.mark.usefixtures("quick_switch")
@pytest.mark.parametrize("api", APIS, ids=[api.name for api in APIS])
def test_no_request_holds_the_loop(open_harness: Any, api: Api) -> None:
    harness = open_harness(auto_create_topics_enable="false")
    coordinate(harness)
    harness.topic("t", 10)
    version = api.versions[-1]
    holds = []
    # The first one loads the schema.
    for arrays in ([1, 1, 1], [ITEMS, 1, 1], [1, ITEMS, 1]):
        client = harness.client()
        frame = client.frame(api.key, version, **large(api, arrays))
        holds.append(longest_round(harness, client, frame))

    assert max(holds[1:]) < NOT_YET.get(api.name, HOLD_S)


def test_a_batch_that_lies_about_its_times_does_not_hold_the_loop(harness: Harness) -> None:
    """One ListOffsets decoded every batch of the log in one round: 4.7 s."""
    harness.topic("t")
    client = harness.client()
    now_ms = harness.broker.clock.now_ms()
    for _ in range(20):
        records = [Record(index, now_ms - 10_000, b"k", b"v") for index in range(20_000)]
        batch = encode_batch(records, compression=Compression.GZIP)
        batch[35:43] = now_ms.to_bytes(8)
        batch[17:21] = crc32c(batch[21:]).to_bytes(4)
        assert client.produce("t", bytes(batch)).error_code == 0
    asked = {"partition_index": 0, "timestamp": now_ms - 5, "current_leader_epoch": -1}
    frame = client.frame(
        2, 7, replica_id=-1, isolation_level=0, topics=[{"name": "t", "partitions": [asked]}]
    )
    client.expect(2, 7)

    longest = longest_round(harness, client, frame)

    assert client.receive().topics[0].partitions[0].offset == -1
    assert longest < HOLD_S
