import io
import os
import threading

from duolog.runtime.sql.groups.frames import LENGTH_MAX, Frames


def received(data: bytes) -> object:
    return Frames(io.BytesIO(data), io.BytesIO()).receive()


def sent(*messages: dict[str, object]) -> bytes:
    sink = io.BytesIO()
    frames = Frames(io.BytesIO(), sink)
    for message in messages:
        frames.send(message)
    return sink.getvalue()


def send_many(frames: Frames, number: int) -> None:
    for _ in range(20):
        frames.send({"id": number, "text": "x" * 10_000})


def test_messages_arrive_in_order_and_whole() -> None:
    data = sent({"id": 1, "text": "ä\n"}, {"id": 2})
    frames = Frames(io.BytesIO(data), io.BytesIO())

    assert [frames.receive(), frames.receive(), frames.receive()] == [
        {"id": 1, "text": "ä\n"},
        {"id": 2},
        None,
    ]


def test_a_message_that_is_cut_off_or_no_object_ends_the_connection() -> None:
    whole = sent({"id": 1})

    assert received(b"") is None
    assert received(whole[:2]) is None
    assert received(whole[:-1]) is None
    assert received(b"\0\0\0\2[]") is None
    assert received(b"\0\0\0\2{]") is None
    assert received((LENGTH_MAX + 1).to_bytes(4, "big") + b"{}") is None


def test_messages_of_several_threads_do_not_mix() -> None:
    source, sink = os.pipe()
    with os.fdopen(source, "rb") as reader, os.fdopen(sink, "wb") as writer:
        frames = Frames(reader, writer)
        threads = [threading.Thread(target=send_many, args=(frames, one)) for one in range(4)]
        for thread in threads:
            thread.start()
        found = [frames.receive() for _ in range(80)]
        for thread in threads:
            thread.join()

    assert sorted(message["id"] for message in found if message) == sorted([*range(4)] * 20)
