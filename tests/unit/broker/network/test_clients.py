"""The clients that a broker reports to an administrator."""

from typing import TYPE_CHECKING, Any

from duolog.broker.network.clients import TOPICS_MAX, Activity, Clients, SeenClient
from duolog.testing.clock import FakeClock

if TYPE_CHECKING:
    from collections.abc import Callable

API_VERSIONS, METADATA, DESCRIBE_CLIENTS = 18, 3, 31_000


def described(harness: Any, limit: int = 100) -> Any:
    return harness.client().ask(DESCRIBE_CLIENTS, 0, limit=limit)


def test_a_client_is_described_with_its_software_and_topics(harness: Any) -> None:
    harness.topic("orders")
    harness.topic("paid")
    client = harness.client()
    client.ask(API_VERSIONS, 4, client_software_name="my-app", client_software_version="1.2.3")
    client.produce("orders", harness.batch(b"v" * 1000))
    client.produce("paid", harness.batch(b"w"))
    client.fetch("orders", 0)

    answer = described(harness)

    one = next(row for row in answer.clients if row.software_name)
    assert (one.client_id, one.software_name, one.software_version) == ("test", "my-app", "1.2.3")
    assert (one.user, one.address, one.closed_ms) == ("User:ANONYMOUS", "127.0.0.1:1", -1)
    assert (one.written, one.read) == (("orders", "paid"), ("orders",))
    assert one.requests == 4
    assert one.bytes_in > 1000
    assert one.bytes_out > 1000
    assert 0 <= answer.now_ms - one.connected_ms < 60_000
    assert one.connected_ms <= one.last_request_ms <= answer.now_ms


def test_batches_of_the_usual_form_are_noted_too(harness: Any) -> None:
    harness.topic("orders")
    client = harness.client()
    for _ in range(3):
        client.produce("orders", harness.batch(b"v"), version=9)

    assert [row.written for row in described(harness).clients if row.requests == 3] == [("orders",)]


def test_a_fetch_without_records_reads_no_topic(harness: Any) -> None:
    harness.topic("orders")
    harness.client().fetch("orders", 0)

    assert [row.read for row in described(harness).clients] == [(), ()]


def test_a_closed_client_is_remembered_with_its_counts(harness: Any) -> None:
    client = harness.client()
    client.ask(METADATA, 9, topics=[])
    client.socket.close()
    harness.turn_until(lambda: client.connection.closed)

    rows = [row for row in described(harness).clients if row.closed_ms != -1]

    assert [(row.client_id, row.requests) for row in rows] == [("test", 1)]
    assert rows[0].bytes_in > 0


def test_a_connection_without_a_request_is_not_remembered(harness: Any) -> None:
    client = harness.client()
    client.socket.close()
    harness.turn_until(lambda: client.connection.closed)

    assert len(described(harness).clients) == 1


def test_the_newest_requests_come_first_and_the_rest_is_counted(harness: Any) -> None:
    for _ in range(3):
        harness.client().ask(METADATA, 9, topics=[])

    answer = described(harness, limit=2)

    assert [row.requests for row in answer.clients] == [1, 1]
    assert answer.left_out == 2
    # The client that asks is the last that has sent a request.
    assert answer.clients[0].address == "127.0.0.1:4"


def test_a_long_client_id_is_cut(harness: Any) -> None:
    client = harness.client()
    frame = client.frame(METADATA, 1, topics=[])
    head, body = frame[4:12], frame[12 + 2 + 4 :]
    name = b"n" * 30_000
    data = head + len(name).to_bytes(2) + name + body
    client.expect(METADATA, 1)
    client.send_bytes(len(data).to_bytes(4) + data)
    client.receive()

    assert max(len(row.client_id) for row in described(harness).clients) == 255


class Connection:
    """A connection that does nothing."""

    address, listener, received_bytes, sent_bytes = "10.0.0.7:1", "PLAINTEXT", 5, 7

    def __init__(self, clock: FakeClock, identity: Any = None) -> None:
        self.activity = Activity(clock.monotonic(), self)
        self.on_close: list[Callable[[], None]] = []
        self.identity: Any = identity or Identified()


class Identified:
    principal = "User:ann"


def ids(found: list[SeenClient]) -> list[int]:
    return [one.number for one in found]


def test_closed_clients_are_forgotten_after_a_quarter_of_an_hour_and_are_bounded() -> None:
    clock = FakeClock()
    clients = Clients(clock)

    def come_and_go() -> None:
        connection = Connection(clock)
        clients.follow(connection)
        connection.activity.requests = 1
        connection.on_close[0]()

    for _ in range(1_100):
        come_and_go()
    assert len(clients.latest(clock.monotonic())) == 1_000

    clock.advance(16 * 60)
    come_and_go()

    assert ids(clients.latest(clock.monotonic())) == [1_101]


def test_topics_are_those_of_the_last_five_minutes() -> None:
    clock = FakeClock()
    connection = Connection(clock)
    seen = SeenClient(1, connection)
    connection.activity.note_written("old")
    clock.advance(301)
    connection.activity.last_request_s = clock.monotonic()
    connection.activity.note_written("new")

    assert seen.described(clock)["written"] == ["new"]
    assert seen.described(clock)["user"] == "User:ann"


def test_the_number_of_noted_topics_is_bounded() -> None:
    activity = Activity(0.0, Connection(FakeClock()))

    for number in range(10 * TOPICS_MAX + 5):
        activity.note_written(f"t{number}")
        activity.note_written("always")

    assert len(activity.written) <= TOPICS_MAX
    assert "always" in activity.written
