"""Bodies that are made while they are read, and clients that leave meanwhile."""

import threading
from collections.abc import Iterator

from duolog.server.ksql.reply import streamed_reply, whole_reply
from waiting import DEADLINE_S


class Source:
    """Pieces, and a thread that waits for the next one until the source is stopped."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces
        self.waits = threading.Event()
        self.stopped = threading.Event()
        self.stops = 0
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._pieces
            self.waits.set()
            assert self.stopped.wait(DEADLINE_S)
        finally:
            self.closed = True

    def stop(self) -> None:
        self.stops += 1
        self.stopped.set()


def test_a_whole_body_is_one_batch() -> None:
    reply = whole_reply(200, "text/plain", b"abc")

    assert reply.is_whole
    assert (reply.next_batch(), reply.next_batch()) == (b"abc", b"")


def test_bounded_rows_are_sent_in_batches() -> None:
    made = [b"x" * 1000] * 100
    reply = streamed_reply("a/b", iter(made), lambda: None, unbounded=False)

    sizes = [len(batch) for batch in iter(reply.next_batch, b"")]

    assert sum(sizes) == 100_000
    assert len(sizes) == 2
    assert not reply.is_whole


def test_unbounded_rows_are_sent_one_by_one() -> None:
    source = Source(b"1", b"", b"2")
    reply = streamed_reply("a/b", iter(source), source.stop, unbounded=True)

    assert (reply.next_batch(), reply.next_batch()) == (b"1", b"2")
    reply.close()


def test_a_client_that_leaves_wakes_the_thread_that_waits_for_a_row() -> None:
    source = Source()
    reply = streamed_reply("a/b", iter(source), source.stop, unbounded=True)
    found: list[bytes] = []
    thread = threading.Thread(target=lambda: found.append(reply.next_batch()))
    thread.start()
    assert source.waits.wait(DEADLINE_S)

    reply.close()
    thread.join(DEADLINE_S)

    assert not thread.is_alive()
    assert found == [b""]
    assert source.closed
    assert reply.next_batch() == b""


def test_bounded_rows_are_closed_by_the_thread_that_reads_them() -> None:
    source = Source(b"1")
    reply = streamed_reply("a/b", iter(source), source.stop, unbounded=False)
    thread = threading.Thread(target=reply.next_batch)
    thread.start()
    assert source.waits.wait(DEADLINE_S)

    reply.close()
    assert not source.stopped.is_set()
    source.stopped.set()
    thread.join(DEADLINE_S)

    assert source.closed
    assert source.stops == 1


def test_an_unread_reply_stops_its_source() -> None:
    source = Source(b"1")
    reply = streamed_reply("a/b", iter(source), source.stop, unbounded=True)

    reply.close()

    assert source.stopped.is_set()
    assert reply.next_batch() == b""
