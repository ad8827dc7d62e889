import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.cli.records.field_forms import PLAIN, FieldForm, Forms, WindowForm, form_of_type
from duolog.cli.records.form_options import FormOptions, form_of_schema
from duolog.cli.records.pack_form import form_of_pack
from duolog.cli.records.text_record import (
    TextRecord,
    parse_format,
    read_record_object,
    record_object,
    render,
)
from duolog.cli.terminal.output import json_line
from duolog.core.errors import SerdeError
from duolog.core.types import parse_columns
from duolog.core.windowed_key import WindowedKey
from duolog.serde.json_compact import compact
from duolog.serde.serde import key_serde

BIGINT = form_of_type("bigint")
HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("type_name", "text", "value"),
    [
        ("int", "-7", -7),
        ("bigint", "9223372036854775807", 2**63 - 1),
        ("double", "1.5", 1.5),
        ("boolean", "true", True),
        ("string", "bob", "bob"),
    ],
)
def test_bytes_are_those_of_the_serdes(type_name: str, text: str, value: object) -> None:
    form = form_of_type(type_name)

    data = form.encode(text)

    assert data == key_serde("KAFKA", parse_columns(f"k {type_name}")).serialize((value,))
    assert form.decode(data) == value


@pytest.mark.parametrize(
    ("type_name", "text"),
    [
        ("bigint", "9223372036854775808"),
        ("bigint", "1_000"),
        ("bigint", " 1"),
        ("bigint", "1.0"),
        ("bigint", ""),
        ("int", "2147483648"),
        ("double", "x"),
        ("double", "1_0"),
        ("boolean", "1"),
        ("json", "{"),
        ("json", "1, 2"),
        ("json", "NaN"),
        ("json", "[" * 100_000),
    ],
)
def test_a_text_of_another_form_is_refused_and_shown(type_name: str, text: str) -> None:
    with pytest.raises(SerdeError) as caught:
        form_of_type(type_name).encode(text)

    assert f'"{text[:60]}' in caught.value.detail
    assert f'" is not {type_name.upper()}' in caught.value.detail


@pytest.mark.parametrize("size_ms", [HOUR_MS, None])
@pytest.mark.parametrize(
    ("inner", "key", "columns"), [(BIGINT, 7, "id BIGINT"), (PLAIN, "SFO", "id STRING")]
)
def test_windowed_keys_are_those_of_the_serdes_and_go_both_ways(
    inner: FieldForm, key: object, columns: str, size_ms: int | None
) -> None:
    serde = key_serde(
        "KAFKA",
        (*parse_columns(columns), *parse_columns("s BIGINT, e BIGINT")),
        WindowedKey(size_ms),
    )
    data = serde.serialize((key, 5 * HOUR_MS, 6 * HOUR_MS))
    assert data is not None
    form = WindowForm(inner, size_ms)

    shown = form.decode(data)

    assert shown == [key, 5 * HOUR_MS, 6 * HOUR_MS]
    assert form.encode_json(json.dumps(shown)) == data


ANY_FORM = st.sampled_from(
    [PLAIN, BIGINT, form_of_type("double"), form_of_pack("<h$"), WindowForm(BIGINT, None), WindowForm(PLAIN, 1000)]
)  # fmt: skip


@given(key=st.none() | st.binary(max_size=24), form=ANY_FORM)
def test_produce_reads_back_each_form_of_consume_byte_for_byte(
    key: bytes | None, form: FieldForm
) -> None:
    forms = Forms(form)
    record = TextRecord(key, b"v", [], 7)

    again = read_record_object(json.dumps(record_object(record, forms)), forms)

    is_nan = record_object(record, forms)["key"] == "NaN"  # Java has many, JSON none.
    assert again.key == key or is_nan


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b'{"n": 1.10}', '{"n":1.10}'),
        (b'"bob"', '"bob"'),
        (b"5", "5"),
        (b'{\n"x": [1,\n2]}', '{"x":[1,2]}'),
        (b"bob", '{"base64":"Ym9i"}'),
        (b"null", '{"base64":"bnVsbA=="}'),
        (b'{"base64":"Ym9i"}', '{"base64":"eyJiYXNlNjQiOiJZbTlpIn0="}'),
        (b"[" * 100_000, None),
    ],
)
def test_json_is_shown_as_the_value_that_it_is_and_goes_both_ways(
    data: bytes, shown: str | None
) -> None:
    """JSON used to be shown as text, which `produce` wrote as text again: with more quotes each time."""
    forms = Forms(form_of_type("json"), form_of_type("json"))

    line = json_line(record_object(TextRecord(data, data, [], 7), forms))
    again = read_record_object(line, forms)

    assert shown is None or f'"key":{shown},"value":{shown}' in line
    expected = compact(data.decode()).encode()
    assert (again.key, again.value) == (expected, expected)


def test_a_windowed_json_key_goes_both_ways() -> None:
    form = WindowForm(form_of_type("json"), HOUR_MS)
    data = b'{"id":1}' + (5 * HOUR_MS).to_bytes(8, "big")

    line = json_line(record_object(TextRecord(data, None, []), Forms(form)))

    assert f'"key":[{{"id":1}},{5 * HOUR_MS},{6 * HOUR_MS}]' in line
    assert read_record_object(line, Forms(form)).key == data


def test_a_windowed_key_is_shown_as_key_start_and_end() -> None:
    forms = Forms(WindowForm(BIGINT, HOUR_MS))
    record = TextRecord(struct.pack(">qq", 7, HOUR_MS), b"42", [])

    assert render(parse_format("%k=%v"), record, forms) == (
        b"(7, 1970-01-01T01:00:00.000Z, 1970-01-01T02:00:00.000Z)=42"
    )
    assert record_object(record, forms)["key"] == [7, HOUR_MS, 2 * HOUR_MS]


@pytest.mark.parametrize(
    ("schema", "data", "shown"),
    [
        ("id BIGINT", struct.pack(">q", 5), 5),
        ("BIGINT", struct.pack(">q", 5), 5),
        ("`my id` INT", struct.pack(">i", 5), 5),
        ("name STRING", b"bob", "bob"),
        ("a INT, b STRING", b'{"a":1}', '{"a":1}'),
    ],
)
def test_a_schema_gives_the_form_that_a_topology_gives(
    schema: str, data: bytes, shown: object
) -> None:
    assert form_of_schema(schema).decode(data) == shown


def test_kcats_option_is_for_the_key_the_value_or_both() -> None:
    options = FormOptions(None, None, ("key=q", "value=i"), None)
    both = FormOptions(None, None, ("h",), None)

    assert [form.encode("5") for form in options.forms_of("t")] == [
        struct.pack(">q", 5),
        struct.pack(">i", 5),
    ]
    assert [form.encode("5") for form in both.forms_of("t")] == [struct.pack(">h", 5)] * 2
