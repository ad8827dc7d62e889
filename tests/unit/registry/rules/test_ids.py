import pytest

from duolog.registry.errors import RequestError
from duolog.registry.rules import Page
from unit.registry.harness import Harness, shown, string_record

A = string_record("A", "x")
B = string_record("A", "x", optional=("y",))
GUID = "095d71cf-1255-6b9d-5e33-0ad575b3df5d"


def test_a_schema_by_its_id_has_nothing_but_the_schema(harness: Harness) -> None:
    harness.register("s", A)

    assert shown(harness.registry.schema_by_id(1)) == {"schema": A}


def test_with_the_header_and_a_subject_it_says_where(harness: Harness) -> None:
    harness.register("s", '"string"')

    assert shown(harness.registry.schema_by_id(1, subject="s", max_id=True), extended=True) == {
        "subject": "s",
        "version": 1,
        "guid": GUID,
        "schemaType": "AVRO",
        "schema": '"string"',
        "maxId": 1,
        "ts": 1000,
        "deleted": False,
    }
    plain = shown(harness.registry.schema_by_id(1), extended=True)
    assert isinstance(plain, dict)
    assert "subject" not in plain


def test_an_unknown_id_has_code_40403(harness: Harness) -> None:
    with pytest.raises(RequestError) as caught:
        harness.registry.schema_by_id(9)

    assert (caught.value.code, caught.value.message) == (40403, "Schema 9 not found")


def test_the_subjects_and_versions_of_an_id(harness: Harness) -> None:
    harness.register("t", A)
    harness.register("s", B)
    harness.register("s", A)
    harness.register("gone", A)
    harness.soft_delete("gone")
    registry = harness.registry

    assert registry.subjects_of_id(1) == ("s", "t")
    assert registry.subjects_of_id(1, deleted=True) == ("gone", "s", "t")
    assert shown(registry.versions_of_id(1)) == [
        {"subject": "s", "version": 2},
        {"subject": "t", "version": 1},
    ]
    assert shown(registry.versions_of_id(1, page=Page(1, 1))) == [{"subject": "t", "version": 1}]
    for find in (registry.subjects_of_id, registry.versions_of_id):
        with pytest.raises(RequestError, match=r"^Schema not found$") as caught:
            find(9)
        assert caught.value.code == 40403


def test_an_id_of_a_subject(harness: Harness) -> None:
    harness.register("s", A)
    harness.register(":.dev:s", B)
    harness.register(":.dev:t", A)
    registry = harness.registry

    # In the subject itself.
    assert registry.schema_by_id(1, subject="s").schema == A
    assert registry.schema_by_id(1, subject=":.dev:s").schema == B
    # In the context, which a prefix names.
    assert registry.schema_by_id(1, subject=":.dev:").schema == B
    assert registry.schema_by_id(2, subject=":.dev:").schema == A
    # In the same subject of another context.
    assert registry.schema_by_id(2, subject="t").schema == A
    # In the default context, whatever the subject.
    assert registry.schema_by_id(1, subject="unheard").schema == A
    # A qualified subject has no other place.
    for subject in (":.dev:unheard", ":.qa:"):
        with pytest.raises(RequestError):
            registry.schema_by_id(1, subject=subject)


def test_a_guid_finds_its_schema_in_any_context(harness: Harness) -> None:
    harness.register(":.dev:s", A)
    harness.register(":.dev:t", '"string"')
    registry = harness.registry

    assert registry.schema_by_guid(GUID).schema == '"string"'
    assert shown(registry.ids_of_guid(GUID)) == [{"context": ".dev", "id": 2}]
    harness.register("s", '"string"')
    assert shown(registry.ids_of_guid(GUID)) == [
        {"context": ".", "id": 1},
        {"context": ".dev", "id": 2},
    ]


@pytest.mark.parametrize("guid", ["00000000-0000-0000-0000-000000000000", "no guid", "", "\0"])
def test_an_unknown_guid_has_code_40403(harness: Harness, guid: str) -> None:
    with pytest.raises(RequestError) as caught:
        harness.registry.schema_by_guid(guid)

    assert (caught.value.code, caught.value.message) == (40403, f"Schema {guid} not found")
    assert harness.registry.ids_of_guid(guid) == ()


def test_the_guid_does_not_depend_on_subject_or_context(harness: Harness) -> None:
    harness.register("s", A)
    harness.register(":.dev:t", A)

    guids = {harness.registry.version(subject, "1").guid for subject in ("s", ":.dev:t")}

    assert len(guids) == 1
