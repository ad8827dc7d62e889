"""The kernel's look-ups of schemas: frames of records, and requests to a registry."""

import base64
import json
import re
from typing import Any, Final

import pytest

from duolog.schemas.protobuf import parse
from unit.kernel.formats.schema_conversions import (
    REGISTRY,
    Answers,
    Away,
    Bad,
    Conversion,
    convert,
    shown,
    written,
)
from unit.kernel.java_program import run_java

pytestmark = pytest.mark.timeout(120)

FRAME: Final = b"\0\0\0\0"
GUID: Final = "01020304-0506-0708-090a-0b0c0d0e0f10"
OTHER_GUID: Final = "01020304-0506-0708-090a-0b0c0d0e0f11"
READ: Final = {"registry": REGISTRY}
JAVA_NAMES: Final = re.compile(r"Exception|\w+Error\b|java\.|org\.|Cannot invoke")
BARE: Final = {"registry": REGISTRY, "single": "bare"}
IMPATIENT: Final = {"duolog.schema.registry.patience.ms": "0"}
SCHEMA: Final[dict[str, Any]] = {"schema": '"int"'}
PART: Final = 'syntax = "proto3"; package p; message Part { string s = 1; }'
MIDDLE: Final = 'syntax = "proto3"; import "part.proto"; message Middle { p.Part part = 1; }'
ORDER: Final = """syntax = "proto3"; import "middle.proto"; import "part.proto";
message Order { Middle middle = 1; p.Part part = 2; }"""
LINE: Final = 'syntax = "proto3"; import "middle.proto"; message Line { Middle middle = 1; }'


def by_id(number: int) -> str:
    return f"/schemas/ids/{number}?format=resolved"


def ints(*data: bytes, **options: str) -> Conversion:
    """Return the conversion of records whose schemas are bare numbers."""
    return shown("N INT", "AVRO", BARE | options, *data)


def guid(text: str) -> bytes:
    return b"\1" + bytes.fromhex(text.replace("-", ""))


def test_a_schema_is_asked_for_once_by_all_readers() -> None:
    answers: Answers = {by_id(1): [(200, SCHEMA)], by_id(2): [(200, {"schema": '"long"'})]}
    one, other = FRAME + b"\1\6", FRAME + b"\2\6"

    found = convert(ints(one, one), ints(one), shown("N BIGINT", "AVRO", BARE, one, other, one),
                    answers=answers)  # fmt: skip

    three = b'{"N":3}'
    assert found.outcomes == [[three] * 2, [three], [three] * 3]
    assert found.asked == [by_id(1), by_id(2)]


def test_an_id_has_no_sign() -> None:
    found = convert(
        ints(b"\0\xff\xff\xff\xff\6"), answers={by_id(2**32 - 1): [(200, SCHEMA)]}
    ).outcomes

    assert found == [[b'{"N":3}']]


def test_an_unknown_id_is_a_bad_record_and_asked_for_once() -> None:
    found = convert(ints(FRAME + b"\1\2", FRAME + b"\1\2", problem="its value is not AVRO"))

    message = Bad("its value is not AVRO: the schema registry has no schema of id 1")
    assert found.outcomes == [[message] * 2]
    assert found.asked == [by_id(1)]


def test_a_schema_of_another_language_is_a_bad_record() -> None:
    other = {"schema": "CgNhLnA=", "schemaType": "PROTOBUF"}

    ((outcome,),) = convert(ints(FRAME + b"\1\2"), answers={by_id(1): [(200, other)]}).outcomes

    assert outcome == "the schema of id 1 is PROTOBUF, not AVRO"


UNPARSABLE: Final[dict[str, str]] = {
    '"none"': "",
    "": "",
    "null": "",
    "{}": "No type",
    '{"type": "record", "name": "R", "fields": [{"name": "a"}]}': "No field type",
    '{"type": "record", "name": "R", "fields": [{"type": "int"}]}': "No field name",
    '{"type": {"type": "array"}}': "",
    "[" * 50_000: "",
}
"""Schemas in Avro, and a part of the reason if it is Avro's own."""


def test_a_schema_that_cannot_be_parsed_is_a_bad_record() -> None:
    answers: dict[str, list[tuple[int, object]]] = {}
    for number, text in enumerate(UNPARSABLE):
        answers[by_id(number)] = [(200, {"schema": text})]
        answers[f"/schemas/ids/{number}/subjects"] = [(200, [f"s{number}"])]
    steps = [ints(*[FRAME + bytes((number,)) + b"\2"] * 2) for number in range(len(UNPARSABLE))]

    found = convert(*steps, answers=answers)

    for number, (text, reason) in enumerate(UNPARSABLE.items()):
        first, second = found.outcomes[number]
        assert isinstance(first, Bad)
        start = f'the schema of id {number}, subject "s{number}", cannot be used: '
        assert first.startswith(start), text[:80]
        assert first == second, "it is kept"
        assert reason in first
        assert first.removeprefix(start)
        assert not JAVA_NAMES.search(first)
    assert len(found.asked) == 2 * len(UNPARSABLE)


def test_a_schema_without_known_subjects_is_named_by_its_id() -> None:
    answers: Answers = {
        by_id(1): [(200, {"schema": "{}"})],
        by_id(2): [(200, {"schema": "{}"})],
        "/schemas/ids/2/subjects": [(403, {"error_code": 40301, "message": "no"})],
    }

    found = convert(ints(FRAME + b"\1\2", FRAME + b"\2\2"), answers=answers)

    for number, outcome in enumerate(found.outcomes[0], start=1):
        assert isinstance(outcome, Bad)
        assert outcome.startswith(f"the schema of id {number} cannot be used: ")


def test_a_schema_of_protobuf_that_cannot_be_parsed_is_a_bad_record() -> None:
    damaged = ("!", "////", base64.b64encode(b"\x22\x05\x0a").decode(), "Ch9h")
    answers: Answers = {
        f"/schemas/ids/{number}?format=serialized": [
            (200, {"schema": text, "schemaType": "PROTOBUF"})
        ]
        for number, text in enumerate(damaged)
    }
    data = [FRAME + bytes((number,)) + b"\0\x08\1" for number in range(len(damaged))]

    (outcomes,) = convert(shown("N INT", "PROTOBUF", READ, *data), answers=answers).outcomes

    for number, outcome in enumerate(outcomes):
        assert isinstance(outcome, Bad)
        assert outcome.startswith(f"the schema of id {number} cannot be used: ")
        assert not JAVA_NAMES.search(outcome)


@pytest.mark.parametrize("name", ["AVRO", "PROTOBUF"])
def test_a_schema_to_write_with_that_cannot_be_parsed_fails_with_its_id(name: str) -> None:
    options = {"id": "7", "schema": "{}", "descriptor": "////"}

    ((outcome,),) = convert(written("N INT", name, options, '{"N":1}')).outcomes

    assert isinstance(outcome, Bad)
    assert outcome.startswith("the schema of id 7 to write with cannot be used: ")
    assert not JAVA_NAMES.search(outcome)


def test_damaged_bytes_are_described_without_names_of_java() -> None:
    """Cut and change records of many types: no message has the name of an exception."""
    fields = [("i", "long"), ("s", "string"), ("b", ["null", "double"]), ("a", {"type": "array", "items": "int"})]  # fmt: skip
    schema = {"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields]}
    good = b"\2\4xy\2" + bytes(8) + b"\4\2\4\0"
    data = [good[:size] for size in range(len(good))]
    data += [good[:at] + b"\xff" * 11 + good[at:] for at in range(len(good))]
    answers: Answers = {by_id(1): [(200, {"schema": json.dumps(schema)})]}

    (outcomes,) = convert(
        shown("I BIGINT, S STRING, B DOUBLE, A ARRAY<INT>", "AVRO", READ,
              FRAME + b"\1" + good, *(FRAME + b"\1" + one for one in data)),
        answers=answers,
    ).outcomes  # fmt: skip

    assert not isinstance(outcomes[0], Bad)
    bad = [outcome for outcome in outcomes if isinstance(outcome, Bad)]
    assert len(bad) >= len(good)
    assert not [outcome for outcome in bad if JAVA_NAMES.search(outcome)]


def test_bytes_without_a_frame_are_bad_records() -> None:
    answers: Answers = {by_id(1): [(200, SCHEMA)], by_id(0x02030405): [(200, SCHEMA)]}
    data = (b"", b"\0", FRAME, b"\2\0\0\0\1\6", guid(GUID)[:-1])
    steps = (ints(*data), *(shown("N INT", name, READ, *data) for name in ("JSON_SR", "PROTOBUF")))

    for outcome in [one for found in convert(*steps, answers=answers).outcomes for one in found]:
        assert isinstance(outcome, Bad)
        assert "do not start with the id of a schema" in outcome


def test_a_guid_names_a_schema_in_place_of_an_id() -> None:
    def path(of: str) -> str:
        return f"/schemas/guids/{of}?format=resolved"

    empty = {"schema": json.dumps({"type": "record", "name": "R", "fields": []})}
    wide = {"schema": '{"type":"record","name":"R","fields":[{"name":"n","type":"int"}]}'}
    answers: Answers = {
        path(GUID): [(200, empty)],
        path(OTHER_GUID): [(200, wide)],
        f"/schemas/guids/{GUID}?format=serialized": [(200, described(PART, {}))],
    }
    data = (guid(GUID), guid(OTHER_GUID) + b"\6", guid(GUID))
    json_sr = shown("N INT", "JSON_SR", {}, guid(GUID) + b'{"N":3}')
    protobuf = shown("S STRING", "PROTOBUF", READ, guid(GUID) + b"\0\x0a\1x")
    unknown = guid("ffffffff-ffff-ffff-ffff-ffffffffffff")

    avro = shown("N INT", "AVRO", READ, *data, unknown)
    found = convert(avro, json_sr, protobuf, answers=answers)

    null, three = b'{"N":null}', b'{"N":3}'
    assert found.outcomes[0][:-1] == [null, three, null]
    assert found.outcomes[0][-1] == (
        "the schema registry has no schema of GUID ffffffff-ffff-ffff-ffff-ffffffffffff"
    )
    assert found.outcomes[1:] == [[three], [b'{"S":"x"}']]
    assert found.asked[:2] == [path(GUID), path(OTHER_GUID)]


def test_a_registry_that_does_not_answer_is_asked_again() -> None:
    paths = {status: f"/{status}{by_id(1)}" for status in (429, 500, 503)}
    answers: Answers = {path: [(status, {}), (200, SCHEMA)] for status, path in paths.items()}

    found = convert(
        *(ints(FRAME + b"\1\6", registry=f"{REGISTRY}/{status}") for status in paths),
        answers=answers,
    )

    assert found.outcomes == [[b'{"N":3}']] * 3
    assert found.asked == [path for path in answers for _ in range(2)]


AWAY: Final[dict[str, tuple[tuple[int, object] | str, str]]] = {
    "unavailable": ((503, {}), "does not answer: {http://127.0.0.1:"),
    "refused": ((401, {"error_code": 40101}), "HTTP status 401"),
    "not found by a proxy": ((404, {"detail": "Not Found"}), "HTTP status 404"),
    "moved": ((302, {"schema": '"int"'}), "HTTP status 302"),
    "a list": ((200, [1]), "HTTP status 200"),
    "no text": ((200, {"schema": 1}), "another form than expected"),
    "underscore": ("http://schema_registry:8081", "no valid name of a host"),
    "scheme": ("ftp://127.0.0.1", "must start with http:// or https://"),
    "space": ("http://127.0.0.1:1 2", "address of the schema registry is invalid"),
    "user": ("http://me:secret@127.0.0.1:1", "does not answer: {http://127.0.0.1:1="),
}
"""An answer, or an address, and the message."""


def test_a_registry_that_is_away_makes_no_record_a_bad_one() -> None:
    steps, answers = [], {}
    for number, (given, _) in enumerate(AWAY.values()):
        address = given if isinstance(given, str) else f"{REGISTRY}/{number}"
        steps.append(ints(FRAME + b"\1\6", registry=address))
        if not isinstance(given, str):
            answers[f"/{number}{by_id(1)}"] = [given]

    found = convert(*steps, answers=answers, properties=IMPATIENT).outcomes

    for (outcome,), (_, message) in zip(found, AWAY.values(), strict=True):
        assert isinstance(outcome, Away)
        assert message in outcome
        assert "secret" not in outcome


def test_the_address_that_answered_is_asked_first() -> None:
    answers: Answers = {
        f"/a{by_id(1)}": [(503, {})],
        f"/b{by_id(1)}": [(200, SCHEMA)],
        f"/b{by_id(2)}": [(200, SCHEMA)],
    }
    addresses = f"http://127.0.0.1:1, {REGISTRY}/a/ ,{REGISTRY}/b//"

    found = convert(ints(FRAME + b"\1\6", FRAME + b"\2\6", registry=addresses), answers=answers)

    assert found.outcomes == [[b'{"N":3}'] * 2]
    assert found.asked == [f"/a{by_id(1)}", f"/b{by_id(1)}", f"/b{by_id(2)}"]


def described(text: str, imports: dict[str, str], *references: tuple[str, str]) -> dict[str, Any]:
    """Return a registry's answer with a schema; each reference has a name and a subject."""
    listed = [{"name": name, "subject": subject, "version": 3} for name, subject in references]
    schema = parse(text, imports).formatted("serialized")
    return {"schema": schema, "schemaType": "PROTOBUF", "references": listed}


def test_imports_are_asked_for_by_subject_and_version() -> None:
    part, middle = ("part.proto", "a b/c"), ("middle.proto", "middle")
    imports = {"part.proto": PART, "middle.proto": MIDDLE}
    path = "/schemas/ids/1?format=serialized"
    alone = "/schemas/ids/2?format=serialized"
    answers: Answers = {
        path: [(200, described(ORDER, imports, middle, part))],
        "/subjects/middle/versions/3?format=serialized": [(200, described(MIDDLE, imports, part))],
        "/subjects/a%20b%2Fc/versions/3?format=serialized": [(200, described(PART, {}))],
    }
    record = FRAME + b"\1\0\x0a\x05\x0a\x03\x0a\1x\x12\x03\x0a\1y"
    columns = "MIDDLE STRUCT<PART: STRUCT<S: STRING>>, PART STRUCT<S: STRING>"

    last = {alone: [(200, described(LINE, imports, middle))]}
    line = FRAME + b"\2\0\x0a\5\x0a\3\x0a\1z"

    found = convert(shown(columns, "PROTOBUF", READ, record, line), answers={**answers, **last})

    assert found.outcomes == [
        [
            b'{"MIDDLE":{"PART":{"S":"x"}},"PART":{"S":"y"}}',
            b'{"MIDDLE":{"PART":{"S":"z"}},"PART":null}',
        ]
    ]
    # The second schema needs the part for what it imports.
    assert found.asked == [*answers, alone, *list(answers)[1:]]


def test_an_import_that_is_missing_is_a_bad_record() -> None:
    answer = described(MIDDLE, {"part.proto": PART}, ("part.proto", "part"))
    path = "/schemas/ids/1?format=serialized"

    ((outcome,),) = convert(
        shown("N INT", "PROTOBUF", READ, FRAME + b"\1\0"), answers={path: [(200, answer)]}
    ).outcomes

    assert outcome == Bad('the schema registry has no schema "part.proto" for an import')


def test_what_is_prepared_for_a_schema_is_kept() -> None:
    names = ["1", "1", "2", "1", "guida", "guidb", "guida", "13", "13", "14", "14"]

    found = run_java("SchemaCacheSteps", *names)

    unparsed = [
        "schema",
        "14",
        "cannot",
        "be",
        "used:",
        "a",
        "part",
        "of",
        "it",
        "is",
        "missing",
        "or",
        "has",
        "another",
        "type",
        "than",
        "expected",
    ]
    misfit = ["it", "does", "not", "fit"]
    first, second = (f"00000000-0000-0000-0000-0000000000{ord(one):x}" for one in "ab")
    assert found == [
        "schema", "make", "1", "1", "schema", "make", "2", "1",
        "schema", "make", first, "schema", "make", second, first,
        "schema", "make", *misfit, *misfit, "schema", "make", *unparsed, *unparsed,
    ]  # fmt: skip


def test_executors_find_the_users_of_the_query_and_of_the_setting() -> None:
    users = json.dumps({"http://a:1": "ann:one", "http://c": "bob:two"})

    found = run_java("RegistryUserSteps", users, "eve:three")

    ann, eve = (base64.b64encode(user).decode() for user in (b"ann:one", b"eve:three"))
    outside, in_task = ["none", "none"], [ann, "none"]
    assert found == [*outside, *in_task, ann, eve, eve, eve]
