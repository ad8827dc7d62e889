"""Letters for tests."""

from duolog.runtime.dead_letters.letter import Headers, Letter, Record, read_letter

ERROR = "org.apache.kafka.common.errors.SerializationException"


def headers(topic: str = "orders", partition: object = 0, offset: object = 7) -> Headers:
    texts = {
        "exception": ERROR,
        "message": "cannot read it",
        "stacktrace": "at …",
        "topic": topic,
        "partition": str(partition),
        "offset": str(offset),
    }
    return tuple((f"__streams.errors.{name}", text.encode()) for name, text in texts.items())


def letter(
    offset: int = 0,
    value: bytes | None = b"v",
    key: bytes | None = b"k",
    *,
    partition: int = 0,
    more: Headers = (),
    of: Headers | None = None,
) -> Letter:
    record = Record(
        "wrong", partition, offset, 1_000, key, value, (*more, *(headers() if of is None else of))
    )
    found = read_letter(record)
    assert found is not None
    return found
