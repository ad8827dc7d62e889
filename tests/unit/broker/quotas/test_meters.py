"""Meters of clients: shared, dropped when unused, and shown as metrics."""

from typing import Any

from duolog.broker.metrics.exposition import exposition
from duolog.broker.quotas import meters
from duolog.broker.quotas.entities import CLIENT_ID, PRODUCE, USER
from duolog.broker.quotas.meters import Meters, MutationMeter, RateMeter
from duolog.broker.quotas.rate import Windows
from unit.broker.quotas.test_produce_quotas import send, throttle_ms

WINDOWS = Windows()


def test_only_unused_meters_are_dropped(monkeypatch: Any) -> None:
    monkeypatch.setattr(meters, "_SWEEP_AT", 10)
    sweeps: list[None] = []
    found: Meters[RateMeter] = Meters(
        PRODUCE,
        lambda clients, limit: RateMeter(clients, limit, WINDOWS),
        lambda: sweeps.append(None),
    )
    found.update({((CLIENT_ID, None),): {PRODUCE: 1.0}})
    busy = found.find("u", "busy", 0)
    assert busy is not None

    for index in range(100):
        now_ms = index * 1000
        busy.record(1, now_ms)
        other = found.find("u", f"c{index}", now_ms)
        assert other is not None
        other.record(1, now_ms)

    assert found.find("u", "busy", 100_000) is busy
    assert sweeps
    assert len(list(found)) < 40


def test_a_connection_finds_its_new_meter_after_the_old_one_was_dropped(
    timed: Any, monkeypatch: Any
) -> None:
    """Two connections of a client must never count on different meters."""
    monkeypatch.setattr(meters, "_SWEEP_AT", 1)
    timed.topic("t")
    timed.quota({"user": None}, producer_byte_rate=1000.0)
    timed.broker.enforcement.produce._sweep_at = 1  # noqa: SLF001
    first, second, other = timed.user("alice"), timed.user("alice"), timed.user("bob")
    small, large = timed.batch(b"x" * 200), timed.batch(b"x" * 6000)
    send(first, small)
    first.receive()
    timed.wait_ms(20_000)
    send(other, small)  # Drops the meter of alice, which was not used for all windows.
    other.receive()

    waits = []
    for client in (second, first):
        send(client, large)
        waits.append(throttle_ms(client.receive()))

    assert [ms > 0 for ms in waits] == [False, True]


def test_a_meter_of_mutations_is_used_while_tokens_are_missing() -> None:
    meter = MutationMeter(("u", None), 1.0, WINDOWS)
    unused = meter.is_idle(0)
    meter.take(30, 0, strict=True)

    assert unused
    assert not meter.is_idle(11_000)
    assert not meter.is_idle(29_000)
    assert meter.is_idle(30_000)


def test_a_mutation_above_the_quota_takes_nothing_if_strict() -> None:
    meter = MutationMeter(("u", None), 1.0, WINDOWS)

    waits = [meter.take(15, 0, strict=True), meter.take(5, 0, strict=True)]

    assert waits == [0, 4000]
    assert meter.tokens(0) == -4
    assert meter.take(1, 0, strict=False) == 5000


def samples(timed: Any, start: str) -> dict[str, float]:
    rows = "".join(exposition(timed.broker)).splitlines()
    return {
        row.rpartition(" ")[0].removeprefix(start): float(row.rpartition(" ")[2])
        for row in rows
        if row.startswith(start)
    }


def test_metrics_show_rates_and_throttle_times_by_the_names_of_kafka(timed: Any) -> None:
    timed.topic("t")
    timed.quota({"user": "alice"}, producer_byte_rate=1000.0, controller_mutation_rate=2.0)
    timed.quota({"client-id": "test"}, consumer_byte_rate=5.0, request_percentage=90.0)
    client = timed.user("alice")

    size = send(client, timed.batch(b"x" * 12_000))
    wait_ms = throttle_ms(client.receive())

    assert samples(timed, "kafka_server_produce_") == {
        'byte_rate{user="alice",client_id=""}': size / 10,
        'throttle_time{user="alice",client_id=""}': wait_ms,
        'throttled_total{user="alice",client_id=""}': 1,
    }
    assert 'throttle_time{user="",client_id="test"}' in samples(timed, "kafka_server_fetch_")
    assert 'request_time{user="",client_id="test"}' in samples(timed, "kafka_server_request_")
    mutations = samples(timed, "kafka_server_controllermutation_")
    assert mutations['tokens{user="alice",client_id=""}'] == 22
    timed.wait_ms(60_000)
    assert samples(timed, "kafka_server_produce_")['throttle_time{user="alice",client_id=""}'] == 0


def test_without_quotas_there_are_no_lines_of_clients(timed: Any) -> None:
    assert not samples(timed, "kafka_server_produce_")
    name = "kafka_server_socket_server_metrics_connection_creation_throttled_total"
    assert samples(timed, name) == {"": 0.0}


def test_a_user_and_a_client_id_of_one_name_have_meters_of_their_own() -> None:
    found: Meters[RateMeter] = Meters(
        PRODUCE, lambda clients, limit: RateMeter(clients, limit, WINDOWS), lambda: None
    )
    found.update({((USER, "a"),): {PRODUCE: 1.0}, ((CLIENT_ID, "a"),): {PRODUCE: 2.0}})

    of_user, of_client = found.find("a", "b", 0), found.find("b", "a", 0)

    assert of_user is not of_client
    assert (of_user and of_user.limit, of_client and of_client.limit) == (1.0, 2.0)


def test_huge_client_ids_are_not_kept() -> None:
    """A client may send another one of 32 KB with each request."""
    found: Meters[RateMeter] = Meters(
        PRODUCE, lambda clients, limit: RateMeter(clients, limit, WINDOWS), lambda: None
    )
    found.update({((CLIENT_ID, None),): {PRODUCE: 1.0}})

    first, second = found.find("u", "a" * 32_000 + "1", 0), found.find("u", "a" * 32_000 + "2", 0)

    assert first is second is not None
    assert found.find("u", "a" * 200, 0) is not first
    assert max(len(str(meter.clients)) for meter in found) < 300
