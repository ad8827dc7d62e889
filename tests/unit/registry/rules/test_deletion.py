import pytest

from duolog.registry.errors import RequestError
from unit.registry.harness import Harness, shown, string_record

A = string_record("A", "x")
B = string_record("A", "x", optional=("y",))
C = string_record("A", "x", optional=("y", "z"))


def code(caught: pytest.ExceptionInfo[RequestError]) -> tuple[int, str]:
    return caught.value.code, caught.value.message


def test_a_soft_delete_answers_with_the_versions_and_hides_the_subject(harness: Harness) -> None:
    harness.register("s", A)
    harness.register("s", B)

    assert harness.soft_delete("s") == (1, 2)

    registry = harness.registry
    assert registry.subjects() == ()
    assert registry.subjects(deleted=True) == registry.subjects(deleted_only=True) == ("s",)
    assert registry.versions("s", deleted=True) == (1, 2)
    assert registry.schema_by_id(1).schema == A
    with pytest.raises(RequestError) as caught:
        registry.versions("s")
    assert code(caught) == (40401, "Subject 's' not found.")
    assert harness.keys()[-1] == "DELETE_SUBJECT s"


def test_a_second_soft_delete_has_code_40404(harness: Harness) -> None:
    harness.register("s", A)
    harness.soft_delete("s")

    with pytest.raises(RequestError) as caught:
        harness.soft_delete("s")

    text = "Subject 's' was soft deleted.Set permanent=true to delete permanently"
    assert code(caught) == (40404, text)


def test_a_hard_delete_without_a_soft_one_has_code_40405(harness: Harness) -> None:
    harness.register("s", A)

    with pytest.raises(RequestError) as caught:
        harness.hard_delete("s")

    text = "Subject 's' was not deleted first before being permanently deleted"
    assert code(caught) == (40405, text)


def test_deleting_an_unknown_subject_has_code_40401(harness: Harness) -> None:
    with pytest.raises(RequestError) as caught:
        harness.soft_delete("s")

    assert code(caught) == (40401, "Subject 's' not found.")


def test_a_second_soft_delete_of_a_version_has_code_40406(harness: Harness) -> None:
    harness.register("s", A)
    harness.commit(harness.registry.delete_version("s", "1"))

    with pytest.raises(RequestError) as caught:
        harness.registry.delete_version("s", "1")

    text = "Subject 's' Version 1 was soft deleted.Set permanent=true to delete permanently"
    assert code(caught) == (40406, text)


def test_a_hard_delete_of_an_active_version_has_code_40407(harness: Harness) -> None:
    harness.register("s", A)

    with pytest.raises(RequestError) as caught:
        harness.registry.delete_version("s", "1", permanent=True)

    text = "Subject 's' Version 1 was not deleted first before being permanently deleted"
    assert code(caught) == (40407, text)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2", (40402, "Version 2 not found.")),
        (
            "0",
            (
                42202,
                (
                    "The specified version '0' is not a valid version id. Allowed values are between "
                    '[1, 2^31-1] and the string "latest"'
                ),
            ),
        ),
    ],
)
def test_deleting_an_unknown_version(
    harness: Harness, version: str, expected: tuple[int, str]
) -> None:
    harness.register("s", A)

    with pytest.raises(RequestError) as caught:
        harness.registry.delete_version("s", version)

    assert code(caught) == expected


def test_latest_is_the_highest_active_version(harness: Harness) -> None:
    harness.register("s", A)
    harness.register("s", B)

    assert harness.commit(harness.registry.delete_version("s", "latest")) == 2
    assert harness.commit(harness.registry.delete_version("s", "-1")) == 1


def test_versions_continue_after_a_soft_delete(harness: Harness) -> None:
    harness.register("s", A)
    harness.register("s", B)
    harness.soft_delete("s")

    harness.register("s", C)

    assert harness.registry.versions("s") == (3,)
    assert harness.registry.versions("s", deleted=True) == (1, 2, 3)


def test_versions_restart_at_1_after_a_hard_delete(harness: Harness) -> None:
    harness.register("s", A)
    harness.register("s", B)
    harness.soft_delete("s")

    assert harness.hard_delete("s") == (1, 2)
    harness.register("s", C)

    assert harness.registry.versions("s", deleted=True) == (1,)


def test_registering_a_soft_deleted_schema_again_takes_its_id_and_its_place(
    harness: Harness,
) -> None:
    harness.register("s", A)
    harness.register("s", B)
    harness.soft_delete("s")

    assert harness.register("s", A) == 1

    assert harness.registry.versions("s", deleted=True) == (2, 3)
    assert harness.keys()[-2:] == ["SCHEMA s v1 tombstone", "SCHEMA s v3"]


def test_a_soft_deleted_version_can_be_compatible_no_more(harness: Harness) -> None:
    harness.register("s", A)
    harness.soft_delete("s")

    assert harness.register("s", '"int"') == 2


def test_deleted_versions_as_negative_numbers(harness: Harness) -> None:
    for schema in (A, B, C):
        harness.register("s", schema)
    harness.commit(harness.registry.delete_version("s", "2"))

    registry = harness.registry
    assert registry.versions("s", deleted_as_negative=True) == (1, -2, 3)
    assert registry.versions("s", deleted_only=True) == (2,)
    assert registry.versions("s") == (1, 3)


def test_a_hard_deleted_schema_is_gone_by_id(harness: Harness) -> None:
    harness.register("s", A)
    harness.soft_delete("s")
    harness.hard_delete("s")

    with pytest.raises(RequestError) as caught:
        harness.registry.schema_by_id(1)

    assert code(caught) == (40403, "Schema 1 not found")


def test_an_id_is_never_given_out_again(harness: Harness) -> None:
    harness.register("s", A)
    harness.register("t", B)
    harness.soft_delete("t")
    harness.hard_delete("t")

    compacted = Harness()
    last = {key: value for key, value, _ in harness.log}
    for key, value, _ in harness.log:
        if last.pop(key, None) == value and value is not None:
            compacted.append(key, value)

    assert harness.register("u", C) == 3
    assert compacted.register("u", C) == 3


def test_a_hard_delete_takes_configuration_and_mode_of_the_subject_with_it(
    harness: Harness,
) -> None:
    harness.register("s", A)
    harness.configure("s", compatibility="NONE")
    harness.set_mode("s", "READWRITE")
    harness.soft_delete("s")

    harness.hard_delete("s")

    with pytest.raises(RequestError):
        harness.registry.config("s")
    with pytest.raises(RequestError):
        harness.registry.mode("s")


def test_the_hard_delete_of_the_last_version_does_too(harness: Harness) -> None:
    harness.register("s", A)
    harness.register("s", B)
    harness.configure("s", compatibility="NONE")
    harness.soft_delete("s")

    harness.commit(harness.registry.delete_version("s", "1", permanent=True))
    assert shown(harness.registry.config("s")) == {"compatibilityLevel": "NONE"}
    harness.commit(harness.registry.delete_version("s", "2", permanent=True))

    with pytest.raises(RequestError):
        harness.registry.config("s")


def test_a_read_only_subject_keeps_its_versions(harness: Harness) -> None:
    harness.register("s", A)
    harness.set_mode("s", "READONLY")

    for delete in (
        lambda: harness.registry.delete_subject("s"),
        lambda: harness.registry.delete_version("s", "1"),
    ):
        with pytest.raises(RequestError) as caught:
            delete()
        assert code(caught) == (42205, "Subject s in context  is in read-only mode")
