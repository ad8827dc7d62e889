"""The throttle time of encoded responses, in every version that has one."""

from dataclasses import replace
from typing import Any

import pytest
from kio.serial import entity_reader

from duolog.broker.router import find_apis
from duolog.protocol.headers import RequestHeader, response_header
from duolog.protocol.messages import Messages, entity_type
from duolog.protocol.throttle_time import throttle_time_position, with_throttle_time

ELSEWHERE = {0, 18}
"""Produce and ApiVersions."""
RESPONSES = [
    (api.key, version)
    for api in find_apis()
    for version in api.versions
    if api.key not in ELSEWHERE
]


@pytest.mark.parametrize("pieces", [None, 1, 4, 9, 12])
def test_nothing_but_the_throttle_time_changes(pieces: int | None) -> None:
    messages, patched = Messages(), set()
    for key, version in RESPONSES:
        header = RequestHeader(key, version, 7, None, 0)
        type_ = entity_type(key, version, "response")
        position = throttle_time_position(type_)
        if position is None:
            continue
        frame = messages.encode_response(header, {})
        data: Any = frame if pieces is None else [frame[:pieces], frame[pieces:]]

        result = with_throttle_time(data, key, version, 123_456, position_in_body=position)

        whole = result if isinstance(result, bytes) else b"".join(result)
        start = 4 + len(response_header(key, version, 7))
        answer: Any = entity_reader(type_)(whole[start:], 0)[0]
        before: Any = entity_reader(type_)(frame[start:], 0)[0]
        assert answer.throttle_time.total_seconds() == 123.456
        assert whole[:start] == frame[:start]
        assert replace(answer, throttle_time=before.throttle_time) == before
        patched.add(key)

    assert len(patched) > 40


def test_the_throttle_time_is_found_in_every_response_that_has_one() -> None:
    for key, version in RESPONSES:
        type_: Any = entity_type(key, version, "response")
        if "throttle_time" in type_.__dataclass_fields__:
            assert throttle_time_position(type_) is not None, (key, version)
