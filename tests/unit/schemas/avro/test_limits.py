"""Hostile schemas are refused or handled in a time that grows with their size only.

A test that fails by time needs minutes or does not end: the time limit of pytest reports it.
"""

import json

import pytest

from duolog.schemas.avro import AvroSchema, parse, resolution
from duolog.schemas.avro.resolution import incompatibilities
from duolog.schemas.schema import InvalidSchemaError

DEPTH = 10_000


def union_of(*types: object) -> AvroSchema:
    return parse(json.dumps(types), {}, strict=False)


def record(name: str, *types: object) -> dict[str, object]:
    fields = [{"name": f"f{number}", "type": each} for number, each in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields}


def ring(length: int, last: object) -> list[object]:
    """Return records that contain the next one of their kind, the last one the first."""
    records = [record(f"R{number}", ["null", f"R{(number + 1) % length}"]) for number in range(length)]  # fmt: skip
    records[-1] = record(f"R{length - 1}", ["null", "R0"], last)
    return [*records]


@pytest.mark.parametrize(
    "text",
    [
        "[" * DEPTH,
        '{"type":"array","items":' * DEPTH + '"int"' + "}" * DEPTH,
        '{"type":"record","name":"R","fields":[],"x":' + "[" * DEPTH + "]" * DEPTH + "}",
        '{"a":' * 401 + "1" + "}" * 401,
    ],
)
def test_a_text_that_is_nested_too_deep_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchemaError, match="nested deeper than 400 levels"):
        parse(text, {})


def test_brackets_in_strings_and_comments_are_not_levels() -> None:
    brackets = "[" * DEPTH
    text = f'{{"type":"int","x":"\\"{brackets}" /* {brackets} */ // {brackets}\n}}'

    assert parse(text, {}).canonical == f'{{"type":"int","x":"\\"{brackets}"}}'


def test_300_levels_are_accepted_and_compared() -> None:
    text = '{"type":"array","items":' * 300 + '"%s"' + "}" * 300

    reader, writer = parse(text % "int", {}), parse(text % "string", {})

    assert parse(reader.canonical, {}) == reader
    assert reader.normalized() == reader.canonical
    assert len(reader.incompatibilities(writer)) == 1
    assert not reader.equivalent(writer)


def test_types_that_follow_each_other_are_refused_if_their_text_would_be_too_deep() -> None:
    """The text has 4 levels. Each record is written out inside the one before it."""
    chain = [record(f"R{number}", f"R{number + 1}") for number in range(DEPTH)]

    with pytest.raises(InvalidSchemaError, match="nested deeper than 400 levels"):
        union_of(*chain, record(f"R{DEPTH}"))
    assert union_of(*reversed([*chain, record(f"R{DEPTH}")])).canonical.count("fields") == DEPTH + 1


def test_references_whose_text_would_be_too_deep_are_refused() -> None:
    references = {"R0": json.dumps(record("R0"))}
    for number in range(1, 300):
        references[f"R{number}"] = json.dumps(record(f"R{number}", f"R{number - 1}"))

    with pytest.raises(InvalidSchemaError, match="nested deeper than 400 levels"):
        parse('"R299"', references)


def test_a_type_of_a_reference_that_is_written_too_deep_is_refused() -> None:
    """The resolved text has the type at its start, the canonical one inside 250 arrays."""

    def arrays(of: object) -> object:
        for _ in range(250):
            of = {"type": "array", "items": of}
        return of

    references = {"Outer": json.dumps(record("Outer", record("Inner", arrays("int"))))}

    with pytest.raises(InvalidSchemaError, match="nested deeper than 400 levels"):
        parse(json.dumps(record("R", "Outer", arrays("Inner"))), references)


@pytest.mark.parametrize(
    "text",
    [
        '"' + '\\"' * 500_000,
        '"' * 1_000_001,
        "/*" * 500_000,
        "/" * 1_000_001,
        "{" * 300 + '"' + "\\" * 1_000_001,
        '{"a":' * 1_000 + "/*" * 300_000,
    ],
)
def test_a_megabyte_without_an_end_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchemaError):
        parse(text, {})


def test_a_text_of_more_than_10_mb_is_refused() -> None:
    with pytest.raises(InvalidSchemaError, match="schema has 10485763 characters"):
        parse(f'"{"x" * (10 * 1024 * 1024 + 1)}"', {})


def test_a_record_of_10_000_fields_is_parsed() -> None:
    schema = parse(json.dumps(record("R", *["string"] * 10_000)), {})

    assert schema.incompatibilities(schema) == ()
    assert len(schema.canonical) > 300_000


@pytest.mark.parametrize(
    "digits", ["1" * 10_000, "1." + "5" * 10_000, "-" + "1" * 5_000, "1e" + "0" * 5_000]
)
def test_a_number_of_10_000_digits_is_refused(digits: str) -> None:
    with pytest.raises(InvalidSchemaError, match=r"number of \d+ characters"):
        parse(f'{{"type":"int","x":{digits}}}', {})


def test_a_default_of_10_000_characters_for_a_double_is_refused() -> None:
    text = json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": "f", "type": "double", "default": "1" * 10_000}],
        }
    )

    with pytest.raises(InvalidSchemaError, match="not a number") as refused:
        parse(text, {})
    assert len(refused.value.message) < 300


def test_a_default_nested_too_deep_is_refused() -> None:
    default: object = []
    for _ in range(120):
        default = [default]
    text = json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": "f", "type": "int", "default": default}],
        }
    )

    with pytest.raises(InvalidSchemaError, match="nested deeper than 100 levels"):
        parse(text, {}, strict=False)


def test_defaults_that_stand_for_exponentially_many_values_are_checked_once() -> None:
    types: list[object] = [record("R0")]
    for number in range(60):
        of: dict[str, object] = {"type": f"R{number}", "default": {}}
        fields = [{"name": name, **of} for name in ("f", "g")]
        types.append({"type": "record", "name": f"R{number + 1}", "fields": fields})

    assert len(parse(json.dumps(types), {}).named_types) == 61


def doubled(depth: int, last: str) -> AvroSchema:
    """Return records with two fields of a record with two fields, and so on."""
    types: list[object] = [record("R0", last)]
    types += [record(f"R{number + 1}", f"R{number}", f"R{number}") for number in range(depth)]
    return parse(json.dumps(types), {})


def test_reasons_that_would_be_exponentially_many_are_cut() -> None:
    reader, writer = doubled(60, "int"), doubled(60, "string")

    reasons = incompatibilities(reader.named_types["R60"], writer.named_types["R60"])

    assert len(reasons) == 1_000
    assert {reason.kind for reason in reasons} == {"TYPE_MISMATCH"}


def test_rings_of_records_are_compared_without_recursion() -> None:
    """Rings of 100 and 99 records have 9,900 pairs, one inside the other."""
    reader = parse(json.dumps(ring(99, "int")), {})
    writer = parse(json.dumps(ring(98, "int")), {})

    reasons = incompatibilities(reader.named_types["R0"], writer.named_types["R0"])

    assert {reason.kind for reason in reasons} <= {"NAME_MISMATCH", "MISSING_UNION_BRANCH", "READER_FIELD_MISSING_DEFAULT_VALUE"}  # fmt: skip


@pytest.mark.parametrize("last", ["int", "string"])
def test_large_unions_are_compared_by_name(last: str) -> None:
    """1,000 records against 1,000 are more pairs than are compared one by one."""

    def schema(of_last: str) -> AvroSchema:
        records = [record(f"R{number}", "string", "string") for number in range(1_000)]
        return union_of(*records, record("Last", of_last))

    reasons = schema("int").incompatibilities(schema(last))

    assert [reason.kind for reason in reasons] == (
        [] if last == "int" else ["MISSING_UNION_BRANCH"]
    )


def test_schemas_with_too_many_pairs_are_incompatible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each record has a union of all before it: their pairs by name grow with the square, too."""
    monkeypatch.setattr(resolution, "_EXACT_PAIRS_MAX", 100)
    monkeypatch.setattr(resolution, "_PAIRS_MAX", 1_000)
    names = [f"R{number}" for number in range(60)]

    def schema(of: str) -> AvroSchema:
        return union_of(*(record(name, names[:number], of) for number, name in enumerate(names)))

    reasons = schema("int").incompatibilities(schema("int"))

    assert [reason.kind for reason in reasons] == ["SCHEMAS_TOO_LARGE"]


def test_a_name_with_a_nul_is_refused_and_a_doc_is_kept() -> None:
    with pytest.raises(InvalidSchemaError, match=r"invalid name 'a\\x00'"):
        parse('{"type":"fixed","name":"a\\u0000","size":1}', {})
    assert "\\u0000" in parse('{"type":"fixed","name":"a","size":1,"doc":"\\u0000"}', {}).canonical
