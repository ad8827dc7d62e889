from typing import TYPE_CHECKING, cast

import pytest

from duolog.cli.errors import MirrorIncomplete
from duolog.cli.mirror.headers import read_headers

if TYPE_CHECKING:
    from confluent_kafka import Message


class Unreadable:
    """A message as the client returns it if a header's name is not UTF-8."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def headers(self) -> None:
        raise self._error

    def topic(self) -> str:
        return "orders"

    def partition(self) -> int:
        return 1

    def offset(self) -> int:
        return 17


@pytest.mark.parametrize(
    "error",
    [
        SystemError("returned a result with an exception set"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    ],
    ids=["SystemError", "UnicodeDecodeError"],
)
def test_a_header_name_that_is_not_utf_8_names_the_record(error: Exception) -> None:
    with pytest.raises(MirrorIncomplete) as caught:
        read_headers(cast("Message", Unreadable(error)))

    assert 'offset 17 of partition 1 of topic "orders" has a header' in caught.value.message
    assert "--topics" in caught.value.hint
