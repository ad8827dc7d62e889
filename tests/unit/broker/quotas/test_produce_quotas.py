"""Producers above their quota: answered at once with a throttle time, and not read for that time."""

import gc
import weakref
from typing import TYPE_CHECKING, Any

import pytest

from duolog.protocol.error_codes import ErrorCode
from unit.broker.conftest import PRODUCE, produce_fields

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timer

METADATA = 3
LONG_WAY, SHORT_WAY = 7, 9
ONE_SECOND_OF_TEN = 10


def throttle_ms(answer: Any) -> int:
    return int(answer.throttle_time.total_seconds() * 1000 + 0.5)


def send(client: Any, batch: bytes, *, version: int = SHORT_WAY, acks: int = -1) -> int:
    """Send a produce request; return its size as Kafka counts it, without the length of the frame."""
    fields = produce_fields("t", batch, acks=acks)
    size = len(client.frame(PRODUCE, version, **fields)) - 4
    client.send(PRODUCE, version, **fields)
    return size


@pytest.mark.parametrize("version", [LONG_WAY, SHORT_WAY])
def test_a_producer_above_its_quota_hears_at_once_for_how_long_it_is_not_read(
    timed: Any, version: int
) -> None:
    timed.topic("t")
    timed.quota({"user": "alice"}, producer_byte_rate=1000.0)
    client, batch = timed.user("alice"), timed.batch(b"x" * 12_000)
    client.ask(METADATA, 9, topics=[])
    timed.user("bob").produce("t", timed.batch(b"x"))  # Allows the time: the short way is open.

    size = send(client, batch, version=version)
    answer = client.receive()
    send(client, batch, version=version)
    client.receive_nothing()
    # In ten windows of a second, 10,000 bytes are allowed: a millisecond for each further byte.
    expected = size - 1000 * ONE_SECOND_OF_TEN
    timed.wait_ms(expected - 1)
    client.receive_nothing()
    timed.wait_ms(1)

    assert throttle_ms(answer) == expected
    assert answer.responses[0].partition_responses[0].error_code == 0
    assert client.receive().responses[0].partition_responses[0].base_offset == 2


@pytest.mark.parametrize("version", [LONG_WAY, SHORT_WAY])
def test_no_request_is_handled_after_the_one_that_is_throttled(timed: Any, version: int) -> None:
    """Requests that were received together: the first is within the quota, the second is not."""
    timed.topic("t")
    timed.quota({"client-id": "test"}, producer_byte_rate=1000.0)
    client, batch = timed.user("alice"), timed.batch(b"x" * 6000)
    frame = client.frame(PRODUCE, version, **produce_fields("t", batch))
    # Allows the time, so that both requests go the short way, in one burst.
    timed.quota({"client-id": "test"}, producer_byte_rate=1e9)
    timed.user("bob").produce("t", timed.batch(b"x"))
    timed.wait_ms(20_000)
    timed.quota({"client-id": "test"}, producer_byte_rate=1000.0)
    for _ in range(4):
        client.expect(PRODUCE, version)

    client.send_bytes(4 * frame)
    answers = [client.receive(), client.receive()]
    client.receive_nothing()

    assert [throttle_ms(answer) > 0 for answer in answers] == [False, True]
    assert timed.broker.log("t", 0).log_end_offset == 3
    timed.wait_ms(throttle_ms(answers[1]))
    assert client.receive().responses[0].partition_responses[0].base_offset == 3


def test_a_producer_without_answers_is_throttled_by_not_being_read(timed: Any) -> None:
    timed.topic("t")
    timed.quota({"user": None}, producer_byte_rate=1000.0)
    client = timed.user("alice")

    size = send(client, timed.batch(b"x" * 12_000), acks=0)
    client._asked.pop()  # noqa: SLF001 - it has no answer
    client.send(METADATA, 9, topics=[])
    client.receive_nothing()
    timed.wait_ms(size - 10_000)

    assert client.receive().throttle_time.total_seconds() == 0
    assert timed.broker.log("t", 0).log_end_offset == 1


def test_connections_of_a_user_share_its_quota_and_others_have_their_own(timed: Any) -> None:
    timed.topic("t")
    timed.quota({"user": None}, producer_byte_rate=1000.0)
    batch = timed.batch(b"x" * 6000)
    first, second, other = timed.user("alice"), timed.user("alice"), timed.user("bob")

    answers = []
    for client in (first, second, other):
        send(client, batch)
        answers.append(throttle_ms(client.receive()))

    assert [ms > 0 for ms in answers] == [False, True, False]


def test_another_client_id_of_a_connection_has_another_quota(timed: Any) -> None:
    timed.topic("t")
    timed.quota({"client-id": "test"}, producer_byte_rate=1.0)
    client, batch = timed.user("alice"), timed.batch(b"x" * 200)
    frame = client.frame(PRODUCE, SHORT_WAY, **produce_fields("t", batch))
    for data in (frame.replace(b"\0\4test", b"\0\4best"), frame):
        client.expect(PRODUCE, SHORT_WAY)
        client.send_bytes(data)

    assert [throttle_ms(client.receive()) > 0 for _ in range(2)] == [False, True]


def test_a_login_as_another_user_counts_for_that_user(timed: Any) -> None:
    timed.topic("t")
    timed.quota({"user": "bob"}, producer_byte_rate=1.0)
    client, batch = timed.user("alice"), timed.batch(b"x" * 200)

    send(client, batch)
    as_alice = throttle_ms(client.receive())
    client.connection.let_in(timed.user("bob").connection.identity)
    send(client, batch)

    assert not as_alice
    assert throttle_ms(client.receive()) > 0


def test_quotas_are_changed_while_clients_are_connected(timed: Any) -> None:
    timed.topic("t")
    client, batch = timed.user("alice"), timed.batch(b"x" * 6000)

    def produce() -> int:
        send(client, batch)
        wait_ms = throttle_ms(client.receive())
        timed.wait_ms(wait_ms)
        return wait_ms

    assert timed.broker.enforcement is None
    assert produce() == 0
    timed.quota({"user": "alice"}, producer_byte_rate=1000.0)
    assert [produce() > 0 for _ in range(2)] == [False, True]
    timed.quota({"user": "alice", "client-id": "test"}, producer_byte_rate=1e9)
    assert produce() == 0
    timed.quota({"user": "alice", "client-id": "test"}, producer_byte_rate=None)
    assert produce() > 0, "what was used counts under the limit that applies again"
    timed.quota({"user": "alice"}, producer_byte_rate=1e9)
    assert produce() == 0
    timed.quota({"user": "alice"}, producer_byte_rate=None)
    assert timed.broker.enforcement is None
    assert produce() == 0


def test_quotas_are_in_force_from_the_start(open_timed: Any) -> None:
    timed = open_timed()
    timed.topic("t")
    timed.quota({"user": "alice"}, producer_byte_rate=1.0)
    timed.stop()
    timed = open_timed()
    client = timed.user("alice")

    send(client, timed.batch(b"x" * 200))

    assert throttle_ms(client.receive()) > 0


def test_the_settings_of_windows_are_those_of_kafka(open_timed: Any) -> None:
    timed = open_timed(quota_window_num="3", quota_window_size_seconds="5")
    timed.topic("t")
    timed.quota({"user": "alice"}, producer_byte_rate=1000.0)
    client = timed.user("alice")

    size = send(client, timed.batch(b"x" * 12_000))

    assert throttle_ms(client.receive()) == size - 1000 * 2 * 5


def test_a_request_that_is_refused_counts_too(timed: Any) -> None:
    timed.quota({"user": "alice"}, producer_byte_rate=1000.0)
    client = timed.user("alice")

    send(client, timed.batch(b"x" * 12_000))
    answer = client.receive()

    code = answer.responses[0].partition_responses[0].error_code
    assert code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert throttle_ms(answer) > 0


def test_a_muted_connection_that_is_closed_is_forgotten(timed: Any) -> None:
    """A throttle time may be days: clients that come again must not pile up."""
    timed.topic("t")
    timed.quota({"user": "alice"}, producer_byte_rate=1.0)
    client = timed.user("alice")
    send(client, timed.batch(b"x" * 12_000))
    assert throttle_ms(client.receive()) > 1_000_000
    planned = _planned(timed)

    client.connection.close()
    gone = weakref.ref(client.connection)
    client.connection = None
    gc.collect()

    assert _planned(timed) == planned - 1
    assert gone() is None


def _planned(timed: Any) -> int:
    timers: list[Timer] = timed.broker.timers._heap  # noqa: SLF001
    return sum(timer.callback is not None for timer in timers)


def test_a_muted_connection_is_read_on_when_the_longest_throttle_time_is_over(timed: Any) -> None:
    client = timed.user("alice")
    client.connection.mute(5.0)
    client.connection.mute(2.0)
    client.send(METADATA, 9, topics=[])

    timed.wait_ms(4999)
    client.receive_nothing()
    timed.wait_ms(1)

    assert client.receive().brokers
