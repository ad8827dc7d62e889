import pytest

from duolog.runtime.dead_letters.letter import Record, read_letter, replay_headers
from unit.runtime.dead_letters.making import ERROR, headers, letter


def test_the_headers_of_kafka_streams_are_read() -> None:
    found = letter(more=(("trace", b"x"), ("empty", None)))

    assert (found.writer, found.reason, found.query) == ("streams", "SerializationException", "")
    assert found.failure.class_name == ERROR
    assert found.source == ("orders", 0, 7)
    assert found.own == (("trace", b"x"), ("empty", None))
    assert found.timestamp_ms == 1_000


def test_the_headers_of_duolog_name_the_query_and_the_original_timestamp() -> None:
    found = letter(
        more=(
            ("__duolog.errors.application", b"CSAS_CLEAN_1"),
            ("__duolog.errors.timestamp", b"-5"),
            ("__duolog.errors.left.out", b"value"),
        )
    )

    assert (found.writer, found.query) == ("duolog", "CSAS_CLEAN_1")
    assert (found.timestamp_ms, found.left_out) == (-5, "value")
    assert found.own == ()


def test_a_record_without_error_headers_is_not_a_letter() -> None:
    assert read_letter(Record("t", 0, 0, 0, b"k", b"v")) is None
    assert read_letter(Record("t", 0, 0, 0, b"k", b"v", (("__duolog.replay.id", b"r"),))) is None


def test_the_last_of_repeated_headers_counts() -> None:
    found = letter(of=(*headers("first", 1, 1), *headers("second", 2, 2)))

    assert found.source == ("second", 2, 2)


@pytest.mark.parametrize("text", ["", "-1", "x", "²", "٣", "9" * 19, "9" * 20, "1_0", " 1"])
def test_a_position_that_is_not_a_number_is_unknown(text: str) -> None:
    found = letter(of=headers("orders", text, text))

    assert (found.source.partition, found.source.offset) == (None, None)


def test_a_timestamp_that_kafka_cannot_have_is_unknown() -> None:
    for text in (b"9" * 19, b"-" + b"9" * 19):
        assert letter(more=(("__duolog.errors.timestamp", text),)).timestamp_ms == 1_000


def test_the_length_of_a_record_includes_its_headers() -> None:
    assert Record("t", 0, 0, 0, b"k", None, (("name", b"12345"), ("n", None))).bytes == 11


def test_headers_that_are_not_text_can_be_read() -> None:
    found = letter(of=(("__streams.errors.exception", b"\xff"), ("__streams.errors.topic", None)))

    assert found.failure.class_name == "\ufffd"
    assert found.source == (None, None, None)


def test_a_replay_counts_the_replays_before_it() -> None:
    first = dict(replay_headers(letter(3), "r1"))
    again = letter(9, more=tuple(first.items()))

    assert first["__duolog.replay.offset"] == b"3"
    assert again.replays == 1
    assert again.own == ()
    assert dict(replay_headers(again, "r2"))["__duolog.replay.count"] == b"2"
