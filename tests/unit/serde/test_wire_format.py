"""The frame that names the schema of a record."""

import pytest

from duolog.core.errors import SerdeError
from duolog.serde.wire_format import (
    framed,
    guid_of,
    header_of,
    unframed,
)

GUID = "89791762-2336-4186-9674-299b90a802e2"


def test_a_frame_has_the_id_of_the_schema() -> None:
    assert framed(2**31 - 1, b"x") == b"\0\x7f\xff\xff\xffx"
    assert unframed(framed(7, b"")) == (7, b"")


@pytest.mark.parametrize("data", [b"", b"\0\0\0\0", b"\1\0\0\0\1", b"{}    "])
def test_bytes_without_a_frame_are_an_error_with_a_hint(data: bytes) -> None:
    with pytest.raises(SerdeError) as caught:
        unframed(data)

    assert "serializer of a schema registry" in str(caught.value.hint)


def test_a_guid_is_in_a_header() -> None:
    assert len(header_of(GUID)) == 17
    assert guid_of(header_of(GUID)) == GUID
    with pytest.raises(SerdeError):
        guid_of(b"\0" + header_of(GUID)[1:])
