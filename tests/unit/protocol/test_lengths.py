"""A request that declares more than it contains is refused before kio allocates memory for it."""

from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_origin

import pytest
from kio.serial import entity_reader

from duolog.broker.router import find_apis
from duolog.protocol.encoder import encoder
from duolog.protocol.errors import MalformedRequest
from duolog.protocol.headers import RequestHeader
from duolog.protocol.lengths import ensure_lengths
from duolog.protocol.messages import Messages, entity_type
from duolog.protocol.schema import without_none

ALL = [(api.key, version) for api in find_apis() for version in api.versions]
TEXTS = {"string": "text", "bytes": b"bytes", "records": b"records"}


def sample(type_: Any) -> dict[str, Any]:
    """Return a message with something in each of its arrays and texts."""
    values: dict[str, Any] = {}
    for field in fields(type_):
        inner, _ = without_none(field.type)
        is_array = get_origin(inner) is tuple
        item_type = without_none(get_args(inner)[0])[0] if is_array else inner
        if is_dataclass(item_type):
            item: Any = sample(item_type)
        elif field.metadata["kafka_type"] in TEXTS:
            item = TEXTS[field.metadata["kafka_type"]]
        else:
            continue
        values[field.name] = [item, item] if is_array else item
    return values


@pytest.mark.parametrize(("key", "version"), ALL)
def test_a_whole_request_passes_and_one_that_is_cut_off_does_not(key: int, version: int) -> None:
    type_ = entity_type(key, version, "request")
    data = encoder(type_)(sample(type_))

    ensure_lengths(type_, data)

    assert entity_reader(type_)(data, 0)[1] == len(data)
    for size in range(len(data)):
        with pytest.raises(MalformedRequest):
            ensure_lengths(type_, data[:size])


@pytest.mark.parametrize("claimed", [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x7f"])
@pytest.mark.parametrize(
    ("key", "version"), [(2, 10), (3, 12), (9, 1), (9, 8), (19, 4), (19, 7), (44, 0), (44, 1)]
)
def test_an_array_that_is_longer_than_its_request_takes_no_memory(
    key: int, version: int, claimed: bytes
) -> None:
    header = RequestHeader(key, version, 1, None, 0)

    with pytest.raises(MalformedRequest):
        Messages().decode_request(header, memoryview(claimed * 20))


@pytest.mark.parametrize(("key", "version", "body"), [(19, 4, b"\xff" * 9), (19, 7, bytes(9))])
def test_an_array_that_cannot_be_null_is_refused(key: int, version: int, body: bytes) -> None:
    header = RequestHeader(key, version, 1, None, 0)

    with pytest.raises(MalformedRequest, match="null"):
        Messages().decode_request(header, memoryview(body))


def test_a_known_tagged_field_is_walked_through_as_well() -> None:
    type_ = entity_type(1, 17, "request")  # The cluster id of Fetch is a tagged text.
    plain = encoder(type_)(sample(type_) | {"cluster_id": None})
    tagged = encoder(type_)(sample(type_) | {"cluster_id": "id"})
    lie = tagged.replace(b"\x03id", b"\x7fid")

    ensure_lengths(type_, tagged)

    assert len(tagged) > len(plain)
    assert lie != tagged
    with pytest.raises(MalformedRequest):
        ensure_lengths(type_, lie)
