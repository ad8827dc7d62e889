"""Keys and values with schemas: written by `produce`, read by `consume`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

from duolog.cli.commands.consume import RecordWriter
from duolog.cli.records.field_forms import PLAIN, Forms, form_of_type
from duolog.cli.records.field_text import as_bytes, as_json, problem_of
from duolog.cli.records.form_options import RAW, FormOptions
from duolog.cli.records.registry_forms import RETRY_S, Choices, RegistryForms
from duolog.cli.records.schema_options import SchemaOptions
from duolog.cli.records.text_record import TextRecord
from duolog.cli.registry.options import DEFAULT_URL, RegistryAddress, found_registry
from duolog.core.errors import RegistryError, SerdeError
from duolog.registry.client.requests import Refused
from duolog.serde.wire_format import VALUE_HEADER, framed, header_of
from unit.cli.registry.server import Server

if TYPE_CHECKING:
    from collections.abc import Callable

REGISTRY = RegistryAddress(DEFAULT_URL)
ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "state", "type": "string", "default": "new"},
        {"name": "lines", "type": {"type": "array", "items": "int"}, "default": []},
    ],
}
ORDER_JSON = '{"id":1,"note":null,"state":"paid","lines":[1,2]}'
PROTO = 'syntax = "proto3";\nmessage Other { string x = 1; }\nmessage Order { int64 id = 1; }\n'
SCHEMAS = {
    "AVRO": ("order.avsc", json.dumps(ORDER), ORDER_JSON),
    "JSON_SR": (
        "order.json",
        '{"type":"object","properties":{"id":{"type":"integer"}},"additionalProperties":false}',
        '{"id":1}',
    ),
    "PROTOBUF": ("order.proto", PROTO, '{"x":"é"}'),
}


def options(**given: Any) -> FormOptions:
    return FormOptions(None, None, (), None, **given)


class Writer:
    """The options of schemas of `duolog produce`."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def form(self, name: str, text: str, **more: Any) -> Any:
        """Return the form of values of the topic "orders" with a schema that is registered."""
        path = self._home / name
        path.write_text(text)
        return self.forms(value_file=path, register=True, **more).value

    def forms(self, form_options: FormOptions | None = None, **given: Any) -> Forms:
        chosen: dict[str, Any] = {
            "value_file": None,
            "key_file": None,
            "value_id": None,
            "key_id": None,
            "references": (),
            "register": False,
        }
        schemas = SchemaOptions(**(chosen | given))
        return schemas.forms_of("orders", form_options or options(), REGISTRY)


@pytest.fixture
def writer(server: Server, tmp_path: Path) -> Writer:
    del server
    return Writer(tmp_path)


def read(
    value: bytes | None, choices: Choices | None = None, *, key: bytes | None = None, **more: Any
) -> Forms:
    forms = RegistryForms("orders", Forms(), choices or Choices(), REGISTRY)
    return forms.of(TextRecord(key, value, more.get("headers", [])))


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_is_written_with_a_schema_is_read_without_being_named(
    writer: Writer, name: str
) -> None:
    file, text, value = SCHEMAS[name]

    data = writer.form(file, text).encode(value)

    assert data[:5] == b"\0\0\0\0\1"
    for choices in (Choices(), Choices(value=name)):
        form = read(data, choices).value
        assert json.loads(str(as_json(form, data))) == json.loads(value)
        assert problem_of(form, data, "value") == ""


def test_a_schema_that_is_a_string_needs_no_quotes(writer: Writer) -> None:
    form = writer.form("name.avsc", '"string"')

    assert form.encode("bob") == form.encode_json('"bob"')
    assert as_json(read(form.encode("bob")).value, form.encode("bob")) == "bob"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"id": 1', "is not JSON"),
        ('{"id": "1"}', 'field "id" must be a whole number, not string 1'),
        ('{"id": 1, "nte": "x"}', 'unknown field "nte"; did you mean "note"?'),
        ('{"note": "x"}', 'does not allow null in "id"'),
        ('{"id": 1, "lines": [1, true]}', 'field "lines[1]" must be a whole number'),
        ("7", "the value must be an object, not number 7"),
    ],
    ids=lambda text: text[:20],
)
def test_a_line_that_does_not_fit_its_schema_is_refused_with_the_field(
    writer: Writer, line: str, told: str
) -> None:
    form = writer.form("order.avsc", json.dumps(ORDER))

    with pytest.raises(SerdeError) as refused:
        form.encode(line)

    assert refused.value.message == "a line is not a record"
    assert told in refused.value.detail


def test_a_double_that_is_not_a_number_is_written_as_it_is_shown(writer: Writer) -> None:
    schema = {**ORDER, "fields": [{"name": "x", "type": "double"}, {"name": "y", "type": "float"}]}
    form = writer.form("order.avsc", json.dumps(schema))
    text = '{"x":"NaN","y":"-Infinity"}'

    data = form.encode(text)

    assert str(as_json(read(data).value, data)) == text
    with pytest.raises(SerdeError):
        form.encode('{"x":"nan","y":1}')


def test_a_json_schema_is_enforced(writer: Writer) -> None:
    form = writer.form(*SCHEMAS["JSON_SR"][:2])

    with pytest.raises(SerdeError) as refused:
        form.encode('{"id": "x"}')

    assert "#/id" in refused.value.detail


def test_defaults_of_the_schema_fill_missing_fields(writer: Writer) -> None:
    form = writer.form("order.avsc", json.dumps(ORDER))

    data = form.encode('{"id": 5}')

    shown = json.loads(str(as_json(read(data).value, data)))
    assert shown == {"id": 5, "note": None, "state": "new", "lines": []}


def test_each_record_is_read_with_the_schema_that_wrote_it(writer: Writer) -> None:
    old = writer.form("v1.avsc", json.dumps({**ORDER, "fields": ORDER["fields"][:1]}))
    new = writer.form("v2.avsc", json.dumps(ORDER))
    forms = RegistryForms("orders", Forms(), Choices(), REGISTRY)

    shown = [
        str(as_json(forms.of(TextRecord(None, data, [])).value, data))
        for data in (old.encode('{"id":1}'), new.encode(ORDER_JSON), old.encode('{"id":2}'))
    ]

    assert shown == ['{"id":1}', ORDER_JSON, '{"id":2}']


def test_a_header_with_a_guid_names_the_schema(writer: Writer, server: Server) -> None:
    form = writer.form("order.avsc", json.dumps(ORDER))
    payload = form.encode(ORDER_JSON)[5:]
    guid = server.harness.registry.version("orders-value", "1").guid

    found = read(payload, headers=[(VALUE_HEADER, header_of(guid))]).value

    assert as_json(found, payload) == ORDER_JSON


def test_a_header_may_have_the_id_of_the_schema(writer: Writer) -> None:
    data = writer.form("order.avsc", json.dumps(ORDER)).encode(ORDER_JSON)
    head, payload = data[:5], data[5:]

    found = read(payload, headers=[(VALUE_HEADER, head)]).value

    assert as_json(found, payload) == ORDER_JSON
    assert as_json(read(payload, headers=[(VALUE_HEADER, head[:4])]).value, payload) != ORDER_JSON


@pytest.mark.parametrize("name", [None, "AVRO"])
def test_a_record_that_cannot_be_decoded_is_shown_with_the_reason(
    writer: Writer, name: str | None
) -> None:
    good = writer.form("order.avsc", json.dumps(ORDER)).encode(ORDER_JSON)
    reasons = {
        framed(77, b"\2abcdefg"): "no schema of id 77",
        good[:7]: "not a value of their Avro schema",
    }

    for data, told in reasons.items():
        form = read(data, Choices(value=name)).value
        assert told in problem_of(form, data, "value")
        assert as_bytes(form, data) == data


def test_bytes_without_a_schema_are_shown_as_before(writer: Writer) -> None:
    del writer

    assert read(b'{"id":1}').value is PLAIN
    assert read(None).value is PLAIN
    assert read(b"x", Choices(value="AVRO")).value is not PLAIN
    assert "do not start with the id" in problem_of(
        read(b"x", Choices(value="AVRO")).value, b"x", "value"
    )


def test_a_bigint_is_not_taken_for_a_record_with_a_schema(writer: Writer) -> None:
    form = writer.form("name.avsc", '"string"')
    bigint = form_of_type("bigint").encode(str(2**24 + 0x046161))  # id 1, then the text "aa"
    same = form.encode("aa")

    assert bigint == same
    assert read(None, key=bigint).key is PLAIN
    assert as_json(read(bigint).value, bigint) == "aa", "the subject orders-value has the id"


def test_a_registry_that_is_down_is_asked_once_in_a_while(writer: Writer, server: Server) -> None:
    data = writer.form("order.avsc", json.dumps(ORDER)).encode(ORDER_JSON)
    now = [100.0]
    forms = RegistryForms("orders", Forms(), Choices(), REGISTRY, lambda: now[0])
    server.down = True
    tries: list[str] = []
    record = TextRecord(None, data, [])

    def shown() -> str:
        return problem_of(forms.of(record).value, data, "value")

    assert "does not answer" in shown()
    server.down = False
    server.asked = tries
    assert "does not answer" in shown()
    assert tries == []
    now[0] += RETRY_S
    assert shown() == ""


def test_raw_and_other_forms_are_left_alone(writer: Writer) -> None:
    data = writer.form("order.avsc", json.dumps(ORDER)).encode(ORDER_JSON)
    bigint = form_of_type("bigint")
    forms = RegistryForms("orders", Forms(value=bigint), Choices(), REGISTRY)

    assert read(data, Choices(value=RAW)).value is PLAIN
    assert forms.of(TextRecord(None, data, [])).value is bigint


def test_without_a_registry_the_option_is_named_once(writer: Writer) -> None:
    data = writer.form("order.avsc", json.dumps(ORDER)).encode(ORDER_JSON)
    forms = RegistryForms("orders", Forms(), Choices(), None)
    said: list[str] = []
    records = RecordWriter("table", None, forms.of, said.append)

    for offset in range(3):
        records.write(TextRecord(None, data, [], 0, "orders", 0, offset))

    (line,) = said
    assert line.startswith("partition 0, offset 0: the value is shown unchanged:")
    assert "schema of id 1" in line
    assert "--registry" in line


def test_only_a_broker_of_this_machine_has_a_default_registry() -> None:
    named, unnamed = RegistryAddress("http://a:1"), RegistryAddress("", "ann", "secret")
    default = RegistryAddress(DEFAULT_URL, "ann", "secret")

    assert found_registry(unnamed, "127.0.0.1:9092") == default
    assert found_registry(unnamed, "localhost:9092,[::1]:9093") == default
    assert found_registry(unnamed, "127.0.0.1:9092,kafka.example:9092") is None
    assert found_registry(named, "kafka.example:9092") == named


def test_an_unregistered_schema_is_registered_only_on_request(
    writer: Writer, tmp_path: Path, server: Server
) -> None:
    file = tmp_path / "order.avsc"
    file.write_text(json.dumps(ORDER))

    with pytest.raises(RegistryError, match="does not have the schema") as unknown:
        writer.forms(value_file=file)
    writer.forms(value_file=file, register=True)
    writer.forms(value_file=file)
    writer.forms(options(value_format="AVRO"))
    writer.forms(value_id="latest")
    writer.forms(value_id="1")

    assert "--register" in unknown.value.hint
    assert server.harness.registry.versions("orders-value") == (1,)


def test_a_topic_without_a_schema_leads_to_the_options(writer: Writer) -> None:
    with pytest.raises(Refused) as unknown:
        writer.forms(options(value_format="AVRO"))

    assert unknown.value.message == 'could not find the schema of the values of topic "orders"'
    assert "--schema FILE --register" in unknown.value.hint


def test_contradicting_options_are_refused(writer: Writer, tmp_path: Path) -> None:
    file = tmp_path / "order.avsc"
    file.write_text(json.dumps(ORDER))
    writer.forms(value_file=file, register=True)
    mistakes: list[Callable[[], object]] = [
        lambda: writer.forms(options(value_format="PROTOBUF"), value_id="1"),
        lambda: writer.forms(value_file=file, value_id="1"),
        lambda: writer.forms(register=True),
        lambda: writer.forms(FormOptions(None, "bigint", (), None), value_id="1"),
        lambda: FormOptions(None, "bigint", (), None, value_format="AVRO").forms_of("orders"),
    ]

    for mistake in mistakes:
        with pytest.raises(click.UsageError):
            mistake()
