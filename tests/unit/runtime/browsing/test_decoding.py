"""Formats of keys and values: detected, asked for, and hostile."""

import json
import struct

import pytest

from duolog.runtime.browsing import message_pack
from duolog.runtime.browsing.decoding import FORMATS, Decoder
from duolog.runtime.browsing.record import Part
from duolog.runtime.browsing.search import EVERYWHERE, TextSearch
from duolog.schemas.languages import parse
from duolog.schemas.schema import Language, Schema
from duolog.schemas.source import SchemaSource, UnknownSchemaError
from duolog.serde.readable import SchemaReader
from duolog.serde.schema_writing import schema_writer
from unit.runtime.browsing.making import browsed

ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "long"}, {"name": "who", "type": "string"}],
    }
)


class Registry:
    """A registry with one schema, of id 7."""

    def by_id(self, schema_id: int) -> Schema:
        if schema_id != 7:
            raise UnknownSchemaError(f"no schema {schema_id}")
        return parse(Language.AVRO, ORDER, {})

    def by_guid(self, guid: str) -> Schema:
        raise UnknownSchemaError(f"no schema {guid}")


def whole(data: bytes) -> Part:
    return Part(data, len(data))


def order(text: str) -> bytes:
    source: SchemaSource = Registry()  # type: ignore[assignment]
    return schema_writer(parse(Language.AVRO, ORDER, {}), 7, source).encode(text)


@pytest.mark.parametrize(
    ("data", "form", "text"),
    [
        (b'{"a": 1.10}', "JSON", '{"a": 1.10}'),
        (b" [1] ", "JSON", " [1] "),
        (b'{"a": ', "STRING", '{"a": '),
        (b'{"a": NaN}', "STRING", '{"a": NaN}'),
        (b"[-Infinity]", "STRING", "[-Infinity]"),
        (b"5", "STRING", "5"),
        (b"", "STRING", ""),
        ("\u202eabc\x1b[31m".encode(), "STRING", "\u202eabc\x1b[31m"),
        (b"\0\0\0\x05", "INT", "5"),
        (struct.pack(">q", -(2**63)), "BIGINT", str(-(2**63))),
        (b"\xff\xfe", "BYTES", "fffe"),
        (b"\x81\xa1k\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "MSGPACK", f'{{"k":{2**64 - 1}}}'),
        (b"[" * 100_000, "STRING", "[" * 100_000),
    ],
)
def test_formats_are_detected(data: bytes, form: str, text: str) -> None:
    found = Decoder().decoded("value", whole(data), ())

    assert (found.form, found.text, found.problem) == (form, text, "")


def test_a_schema_is_found_by_the_id_in_bytes_or_header() -> None:
    data = order('{"id": 9007199254740993, "who": "bob"}')
    decoder = Decoder(SchemaReader(Registry()))
    text = '{"id":9007199254740993,"who":"bob"}'

    found = decoder.decoded("value", whole(data), ())
    assert (found.form, found.text, found.schema, found.kind) == ("AVRO", text, 7, "json")
    by_header = decoder.decoded("value", whole(data[5:]), (("__value_schema_id", data[:5]),))
    assert (by_header.form, by_header.text, by_header.schema) == ("AVRO", text, 7)
    # An unknown id does not name a schema; eight bytes are a BIGINT.
    assert decoder.decoded("value", whole(b"\0\0\0\0\x08abcdef\0"), ()).form == "BYTES"
    assert decoder.decoded("value", whole(b"\0\0\0\0\x07abc"), ()).form == "BIGINT"
    # Without a registry, bytes are shown.
    assert Decoder().decoded("value", whole(data), ()).form == "BYTES"


def test_a_format_that_does_not_fit_says_why_and_shows_the_bytes() -> None:
    for form in FORMATS[1:]:
        found = Decoder(SchemaReader(Registry()), value=form).decoded("value", whole(b"\xff{"), ())
        assert bool(found.problem) == (form != "BYTES"), form
        assert found.text in ("ff7b", "\ufffd{"), form


def test_the_start_of_a_large_value_ends_between_characters() -> None:
    part = Part("aé".encode()[:2], 10_000_000)

    found = Decoder().decoded("value", part, ())

    assert (found.text, found.form) == ("a", "STRING")
    assert Decoder().decoded("value", Part(b"\xff\xff", 99), ()).form == "BYTES"


@pytest.mark.parametrize(
    "data",
    [
        b"\x91" * 200 + b"\x01",
        b"\xdd\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xffa",
        b"\x81\x91\x01\x01",
        b"\xc1",
        b"\x81\xa1k",
        b"\x81\xa1k\x01\x01",
        b"\xa1\xff",
    ],
)
def test_bytes_that_are_not_message_pack_are_refused(data: bytes) -> None:
    assert message_pack.text_of(data) is None


def test_all_types_of_message_pack_are_read() -> None:
    data = (
        b"\xdc\x00\x09\xc0\xc2\xd0\xff\xd3" + b"\xff" * 8 + b"\xca\x3f\x80\0\0"
        b"\xc4\x01\xff\xd4\x05\x01\xd9\x02hi\xde\0\1\x01\xa1v"
    )

    text = message_pack.text_of(data)

    assert text is not None
    assert json.loads(text) == [
        *(None, False, -1, -1, 1.0, "/w=="),
        *({"ext": 5, "data": "AQ=="}, "hi", {"1": "v"}),
    ]


def test_texts_are_found_in_decoded_values_bytes_and_headers() -> None:
    decoder = Decoder(SchemaReader(Registry()), value="AUTO")

    def finds(text: str, *parts: str) -> bool:
        record = browsed(
            0, b"Key-1", order('{"id": 77123, "who": "Bob"}'), (("Trace", b"x\xffYz"),)
        )
        return TextSearch(text, frozenset(parts) or EVERYWHERE, decoder).finds(record)

    assert finds("77123")  # Only in the decoded text.
    assert finds("BOB", "value")
    assert finds("key-1", "key")
    assert not finds("key-1", "value", "headers")
    assert finds("trace", "headers")
    assert finds("yz", "headers")
    assert not finds("nowhere")
