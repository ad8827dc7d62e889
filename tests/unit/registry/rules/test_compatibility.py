"""Versions, directions and messages of compatibility checks."""

import pytest

from duolog.registry.errors import RequestError
from unit.registry.harness import Harness, request, shown, string_record

X = string_record("A", "x")
XY = string_record("A", "x", "y")
X_OPTIONAL = string_record("A", optional=("x",))
Y = string_record("A", "y")
NONE = string_record("A")


def is_compatible(harness: Harness, schema: str, version: str | None = None) -> bool:
    return harness.registry.compatibility("s", version, request(schema)).is_compatible


@pytest.mark.parametrize(
    ("level", "old", "new", "expected"),
    [
        # BACKWARD: the new schema reads old records.
        ("BACKWARD", X, NONE, True),
        ("BACKWARD", NONE, X, False),
        ("BACKWARD", NONE, X_OPTIONAL, True),
        # FORWARD: the old schema reads new records.
        ("FORWARD", NONE, X, True),
        ("FORWARD", X, NONE, False),
        ("FORWARD", X_OPTIONAL, NONE, True),
        # FULL: both.
        ("FULL", X, NONE, False),
        ("FULL", NONE, X, False),
        ("FULL", NONE, X_OPTIONAL, True),
        ("FULL", X_OPTIONAL, NONE, True),
        ("NONE", X, Y, True),
        ("NONE", X, '"int"', True),
        ("BACKWARD", X, '"int"', False),
    ],
)
def test_the_level_names_the_direction(
    harness: Harness, level: str, old: str, new: str, *, expected: bool
) -> None:
    harness.register("s", old)
    harness.configure("s", compatibility=level)

    assert is_compatible(harness, new) == expected
    assert is_compatible(harness, new, "latest") == expected
    assert is_compatible(harness, new, "1") == expected


@pytest.mark.parametrize(
    ("level", "first", "second", "new"),
    [
        # Each is compatible with the second version and not with the first.
        ("BACKWARD", NONE, X, X),
        ("FORWARD", XY, X, X),
        ("FULL", NONE, X, X),
    ],
)
def test_transitive_levels_compare_with_all_versions(
    harness: Harness, level: str, first: str, second: str, new: str
) -> None:
    harness.register("s", first)
    harness.register("s", second, force=True)
    new = new.replace('"A"', '"A","doc":"d"')

    harness.configure("s", compatibility=level)
    assert is_compatible(harness, new)
    harness.configure("s", compatibility=f"{level}_TRANSITIVE")
    assert not is_compatible(harness, new)


def test_soft_deleted_versions_are_not_compared(harness: Harness) -> None:
    harness.register("s", X)
    harness.soft_delete("s")

    assert is_compatible(harness, '"int"')
    with pytest.raises(RequestError) as caught:
        is_compatible(harness, '"int"', "1")
    assert caught.value.code == 40402


def test_an_unknown_subject_is_compatible_with_everything_but_has_no_version(
    harness: Harness,
) -> None:
    assert is_compatible(harness, X)
    assert is_compatible(harness, X, "latest")
    with pytest.raises(RequestError) as caught:
        is_compatible(harness, X, "1")
    assert (caught.value.code, caught.value.message) == (40402, "Version 1 not found.")


@pytest.mark.parametrize("version", ["0", "-2", "one", "", "2147483648", "9" * 10_000, "1.0"])
def test_a_version_that_is_not_one_has_code_42202(harness: Harness, version: str) -> None:
    with pytest.raises(RequestError) as caught:
        is_compatible(harness, X, version)

    assert caught.value.code == 42202


def test_the_answer_has_messages_only_if_they_are_wanted(harness: Harness) -> None:
    harness.register("s", X)
    registry = harness.registry

    assert shown(registry.compatibility("s", None, request(X))) == {"is_compatible": True}
    assert shown(registry.compatibility("s", None, request(X), verbose=True)) == {
        "is_compatible": True,
        "messages": (),
    }
    assert shown(registry.compatibility("s", None, request(XY))) == {"is_compatible": False}


def test_the_messages_of_backward_name_the_new_schema_as_reader(harness: Harness) -> None:
    harness.register("s", X)

    answer = harness.registry.compatibility("s", "1", request(XY), verbose=True)

    assert answer.messages == (
        (
            "{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'The field 'y' at path "
            "'/fields/1' in the new schema has no default value and is missing in the old schema', "
            "additionalInfo:'y'}"
        ),
        "{oldSchemaVersion: 1}",
        f"{{oldSchema: '{X}'}}",
        "{validateFields: 'false', compatibility: 'BACKWARD'}",
    )


def test_the_messages_of_forward_name_the_old_schema_as_reader(harness: Harness) -> None:
    harness.register("s", XY)
    harness.configure("s", compatibility="FORWARD")

    answer = harness.registry.compatibility("s", "1", request(X), verbose=True)

    assert answer.messages == (
        (
            "{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'The field 'y' at path "
            "'/fields/1' in the old schema has no default value and is missing in the new schema', "
            "additionalInfo:'y'}"
        ),
        "{oldSchemaVersion: 1}",
        f"{{oldSchema: '{XY}'}}",
        "{validateFields: 'false', compatibility: 'FORWARD'}",
    )


def test_the_messages_of_full_name_both_directions_and_show_the_old_schema_once(
    harness: Harness,
) -> None:
    harness.register("s", X)
    harness.configure("s", compatibility="FULL")

    answer = harness.registry.compatibility("s", "1", request(Y), verbose=True)

    assert answer.messages is not None
    assert [message[:30] for message in answer.messages] == [
        "{errorType:'READER_FIELD_MISSI",
        "{errorType:'READER_FIELD_MISSI",
        "{oldSchemaVersion: 1}",
        '{oldSchema: \'{"type":"record",',
        "{validateFields: 'false', comp",
    ]
    assert "in the old schema has no default" in answer.messages[0]
    assert "in the new schema has no default" in answer.messages[1]


def test_a_long_old_schema_is_truncated(harness: Harness) -> None:
    long = string_record("A", *(f"field_{index}" for index in range(1000)))
    harness.register("s", long)

    answer = harness.registry.compatibility("s", "1", request('"int"'), verbose=True)

    assert answer.messages is not None
    assert answer.messages[2] == f"{{oldSchema: <truncated> '{long[: 10 * 1024]}...'}}"


def test_another_language_is_incompatible(harness: Harness) -> None:
    harness.register("s", X)

    answer = harness.registry.compatibility(
        "s", None, request("{}", schemaType="JSON"), verbose=True
    )

    assert answer.messages == (
        "Incompatible because of different schema type",
        "{validateFields: 'false', compatibility: 'BACKWARD'}",
    )


def test_an_invalid_schema_is_a_message_if_they_are_wanted_and_else_an_error(
    harness: Harness,
) -> None:
    registry = harness.registry
    text = "Invalid schema of type AVRO, details: schema is not JSON: Expecting value at line 1, column 1"
    body = request("no")

    assert shown(registry.compatibility("s", None, body, verbose=True)) == {
        "is_compatible": False,
        "messages": (text,),
    }
    with pytest.raises(RequestError, match=text) as caught:
        registry.compatibility("s", None, body)
    assert caught.value.code == 42201
    with pytest.raises(RequestError, match="Empty schema"):
        registry.compatibility("s", None, request(""))


def test_only_versions_of_the_same_group_are_compared(harness: Harness) -> None:
    harness.configure("s", compatibilityGroup="major")
    harness.register("s", X, metadata={"properties": {"major": "1"}})

    harness.register("s", '"int"', metadata={"properties": {"major": "2"}})
    harness.register("s", '"long"', metadata={})

    with pytest.raises(RequestError) as caught:
        harness.register("s", '"string"', metadata={"properties": {"major": "2"}})
    assert caught.value.code == 409
    assert "{oldSchemaVersion: 2}" in caught.value.message
    with pytest.raises(RequestError):
        harness.register("s", '"string"', metadata={})


def test_the_policy_reaches_the_language(harness: Harness) -> None:
    old = '{"type":"object","properties":{"a":{"type":"string"}}}'
    harness.register("s", old, schemaType="JSON")
    body = request(old.replace("}}}", '},"b":{"type":"string"}}}'), schemaType="JSON")

    assert not harness.registry.compatibility("s", None, body).is_compatible
    harness.configure("s", compatibilityPolicy="LENIENT")

    assert harness.registry.compatibility("s", None, body).is_compatible
