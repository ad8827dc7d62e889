"""Clients that use more of the loop's time than their quota: any request may be throttled."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from duolog.broker.quotas.enforcement import Enforcement
from duolog.broker.quotas.entities import REQUEST, USER
from duolog.broker.settings import BrokerSettings
from duolog.security.identity.principal import ANONYMOUS, Identity
from duolog.testing.clock import FakeClock
from unit.broker.conftest import FETCH, PRODUCE, fetch_fields, produce_fields
from unit.broker.quotas.conftest import ALTER_QUOTAS, TimedHarness
from unit.broker.quotas.test_produce_quotas import throttle_ms

METADATA, LIST_GROUPS, SASL_HANDSHAKE, API_VERSIONS, OFFSET_FETCH = 3, 16, 17, 18, 9
DESCRIBE_CLUSTER, LIST_OFFSETS = 60, 2
WINDOW_MS = 1000


class BusyClock(FakeClock):
    """A clock on which each look at the time takes some."""

    def __init__(self) -> None:
        super().__init__()
        self.look_ms = 0

    def monotonic(self) -> float:
        self.advance(ms=self.look_ms)
        return super().monotonic()


@pytest.fixture
def busy(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("unit.broker.quotas.conftest.FakeClock", BusyClock)
    harness: Any = TimedHarness(tmp_path / "data", {"durability": "os"})
    yield harness
    harness.clock.look_ms = 0
    harness.stop()


REQUESTS: dict[str, tuple[int, int, dict[str, Any]]] = {
    "produce, short way": (PRODUCE, 9, produce_fields("t", b"")),
    "produce": (PRODUCE, 7, produce_fields("t", b"")),
    "fetch": (FETCH, 11, fetch_fields("t", 0)),
    "metadata": (METADATA, 9, {"topics": None}),
    "API versions": (
        API_VERSIONS,
        3,
        {"client_software_name": "t", "client_software_version": "1"},
    ),
    "groups": (LIST_GROUPS, 4, {}),
    "offsets in pieces": (OFFSET_FETCH, 8, {"groups": [{"group_id": "g", "topics": None}]}),
    "cluster": (DESCRIBE_CLUSTER, 0, {}),
}


def be_busy_until_muted(busy: Any, client: Any) -> None:
    """Let each look at the time take 300 ms, until the client is muted; from then on, none."""
    busy.clock.look_ms, mute = 300, client.connection.mute

    def mute_and_rest(seconds: float) -> None:
        busy.clock.look_ms = 0
        mute(seconds)

    client.connection.mute = mute_and_rest


@pytest.mark.parametrize("name", REQUESTS)
def test_every_kind_of_request_counts_and_is_throttled(busy: Any, name: str) -> None:
    key, version, fields = REQUESTS[name]
    busy.topic("t")
    busy.load()
    batch = busy.batch(b"x" * 200)
    if key == PRODUCE:
        fields = produce_fields("t", batch)
    busy.user("admin").produce("t", batch)
    busy.quota({"user": "alice"}, request_percentage=0.1)
    client = busy.user("alice")
    client.ask(key, version, **fields)  # Loads the schema, in another thread.
    busy.wait_ms(20_000)
    be_busy_until_muted(busy, client)

    answer = client.ask(key, version, **fields)
    client.send(key, version, **fields)
    client.receive_nothing()
    busy.wait_ms(WINDOW_MS)

    # 300 ms of ten seconds are 3 %, far above; but no request waits longer than one window.
    assert throttle_ms(answer) == WINDOW_MS
    if key == FETCH:
        assert not answer.responses
    assert client.receive()
    assert client.connection.broker.counters.errors.total() == 0


def test_a_version_without_a_throttle_time_is_muted_all_the_same(busy: Any) -> None:
    busy.load()
    busy.quota({"user": "alice"}, request_percentage=0.1)
    client = busy.user("alice")
    client.ask(LIST_GROUPS, 0)
    busy.wait_ms(20_000)
    be_busy_until_muted(busy, client)

    first = client.ask(LIST_GROUPS, 0)
    client.send(LIST_GROUPS, 0)
    client.receive_nothing()
    busy.wait_ms(WINDOW_MS)

    assert first == client.receive()


def test_a_client_within_its_share_of_the_time_is_not_throttled(busy: Any) -> None:
    busy.quota({"user": "alice"}, request_percentage=50.0)
    client = busy.user("alice")
    client.ask(METADATA, 9, topics=[])
    busy.clock.look_ms = 100

    answers = [client.ask(METADATA, 9, topics=[]) for _ in range(5)]

    assert not any(map(throttle_ms, answers))


def test_time_that_others_used_does_not_count(busy: Any) -> None:
    """A request waits for something; only its own steps on the loop count."""
    busy.topic("t")
    busy.quota({"user": "alice"}, request_percentage=1.0)
    client = busy.user("alice")
    client.send(FETCH, 11, **fetch_fields("t", 0, max_wait_ms=3_600_000))
    client.receive_nothing()

    busy.wait_ms(3_000_000)
    busy.user("admin").produce("t", busy.batch(b"x"))

    assert throttle_ms(client.receive()) == 0


def test_a_login_is_exempt(busy: Any) -> None:
    busy.quota({"user": None}, request_percentage=0.001)
    client = busy.user("alice")
    busy.clock.look_ms = 300

    for _ in range(3):
        client.ask(SASL_HANDSHAKE, 1, mechanism="PLAIN")

    assert client.connection._muting is None  # noqa: SLF001
    busy.clock.look_ms = 0
    assert client.ask(METADATA, 9, topics=[]).brokers


def test_api_versions_before_a_login_count_for_nobody(busy: Any) -> None:
    """All clients are ANONYMOUS then: one of them could keep the others from logging in."""
    busy.quota({"user": None}, request_percentage=0.001)
    key, version, fields = REQUESTS["API versions"]
    client = busy.user("ANONYMOUS")
    busy.broker.connections.unauthenticated.add(client.connection)
    busy.clock.look_ms = 300

    answers = [client.ask(key, version, **fields) for _ in range(3)]

    assert not any(map(throttle_ms, answers))


def test_produce_without_answers_is_not_limited_by_time(busy: Any) -> None:
    busy.topic("t")
    busy.quota({"user": "alice"}, request_percentage=0.001)
    client, batch = busy.user("alice"), busy.batch(b"x" * 200)
    busy.clock.look_ms = 300

    for _ in range(3):
        client.send(PRODUCE, 9, **produce_fields("t", batch, acks=0))
        client._asked.pop()  # noqa: SLF001 - it has no answer

    busy.turn_until(lambda: busy.broker.log("t", 0).log_end_offset == 3)
    assert client.connection._muting is None  # noqa: SLF001


def test_entries_that_are_read_in_later_rounds_count_too(busy: Any) -> None:
    busy.quota({"user": "alice"}, request_percentage=1e6)
    client, count = busy.user("alice"), 30
    busy.clock.look_ms = 5  # All of it is within the windows of the rate.
    entries = [
        {"entity": [{"entity_type": "user", "entity_name": f"u{index}"}], "ops": []}
        for index in range(count)
    ]

    client.ask(ALTER_QUOTAS, 1, entries=entries, validate_only=True)
    busy.clock.look_ms = 0

    (meter,) = busy.broker.enforcement.request
    # Time is looked at six times for each entry; without the steps that read it, five times.
    assert meter.rate.total(int(busy.clock.monotonic() * 1000)) >= 6 * count * 5 / 1000 * 100


def test_only_the_time_of_steps_counts_not_the_time_between_them() -> None:
    clock = FakeClock()
    enforcement = Enforcement(BrokerSettings(), clock)
    enforcement.update({((USER, None),): {REQUEST: 1.0}})
    connection: Any = SimpleNamespace(identity=Identity(ANONYMOUS, "h"), metered=None)
    charge = enforcement.charge(connection, "c")

    def steps() -> Iterator[None]:
        for _ in range(3):
            clock.advance(ms=10)
            yield

    charge.pause()
    for _ in charge.timed(steps()):
        clock.advance(ms=500)

    (meter,) = enforcement.request
    assert meter.rate.total(int(clock.monotonic() * 1000)) == pytest.approx(3.0)


def test_steps_in_later_rounds_count_too(busy: Any) -> None:
    """A request for many topics is handled in time slices, with other work in between."""
    for index in range(5):
        busy.topic(f"t{index}")
    busy.quota({"user": "alice"}, request_percentage=1.0)
    client = busy.user("alice")
    client.ask(METADATA, 9, topics=None)
    busy.wait_ms(20_000)
    busy.clock.look_ms = 20

    client.ask(METADATA, 9, topics=None)
    busy.clock.look_ms = 0

    meter = next(iter(busy.broker.enforcement.request))
    now_ms = int(busy.clock.monotonic() * 1000)
    # Each of the five topics is a step, of at least one look at the time.
    assert meter.rate.total(now_ms) >= 5 * 20 / 1000 * 100
