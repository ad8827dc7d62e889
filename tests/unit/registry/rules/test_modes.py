from typing import Any

import pytest

from duolog.registry.errors import RequestError
from duolog.registry.json_text import Json
from duolog.registry.rules import ModeRequest, RulesSettings
from unit.registry.harness import Harness, registry_of, request, shown, string_record

A = string_record("A", "x")
B = string_record("A", "x", optional=("y",))


def refused(harness: Harness, subject: str, schema: str, **fields: Json) -> str:
    with pytest.raises(RequestError) as caught:
        harness.registry.register(subject, request(schema, **fields))
    assert (caught.value.code, caught.value.status) == (42205, 422)
    return caught.value.message


def test_the_global_mode_is_readwrite_until_it_is_set(harness: Harness) -> None:
    assert shown(harness.registry.mode(None)) == {"mode": "READWRITE"}

    harness.set_mode(None, "READONLY")

    assert shown(harness.registry.mode(None)) == {"mode": "READONLY"}


def test_a_subject_without_a_mode_has_code_40409_unless_defaulted(harness: Harness) -> None:
    harness.set_mode(None, "READONLY")

    with pytest.raises(RequestError) as caught:
        harness.registry.mode("s")

    text = "Subject 's' does not have subject-level mode configured"
    assert (caught.value.code, caught.value.message) == (40409, text)
    assert shown(harness.registry.mode("s", default_to_global=True)) == {"mode": "READONLY"}


def test_the_answer_to_a_change_is_the_request_itself(harness: Harness) -> None:
    decision = harness.registry.change_mode("s", ModeRequest.from_json({"mode": "readonly"}))

    assert shown(harness.commit(decision)) == {"mode": "readonly"}
    assert shown(harness.registry.mode("s")) == {"mode": "READONLY"}


def test_null_takes_a_mode_away(harness: Harness) -> None:
    harness.set_mode("s", "READONLY")

    answer = harness.commit(
        harness.registry.change_mode("s", ModeRequest.from_json({"mode": None}))
    )

    assert shown(answer) == {"mode": None}
    with pytest.raises(RequestError):
        harness.registry.mode("s")


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("HALF", "Invalid mode. Valid values are READWRITE, READONLY, IMPORT and FORWARD."),
        ("FORWARD", "Forward mode only supported on global level"),
    ],
)
def test_a_mode_that_is_not_valid_has_code_42204(harness: Harness, mode: str, message: str) -> None:
    with pytest.raises(RequestError) as caught:
        harness.set_mode("s", mode)

    assert (caught.value.code, caught.value.message) == (42204, message)


def test_forward_is_a_mode_of_all_contexts(harness: Harness) -> None:
    harness.set_mode(":.__GLOBAL:", "FORWARD")

    assert refused(harness, "s", A) == "Subject s in context  is not in read-write mode"
    assert harness.register("s", A, id=7, version=2) == 7


def test_modes_may_be_fixed() -> None:
    harness = Harness(registry_of(RulesSettings(mode_changes=False)))

    for change in (
        lambda: harness.set_mode("s", "READONLY"),
        lambda: harness.registry.delete_mode(None),
    ):
        with pytest.raises(RequestError, match="Mode changes are not allowed") as caught:
            change()
        assert caught.value.code == 42205


@pytest.mark.parametrize("mode", ["READONLY", "READONLY_OVERRIDE"])
def test_a_read_only_subject_takes_no_new_schema_but_answers_a_known_one(
    harness: Harness, mode: str
) -> None:
    harness.register("s", A)
    harness.set_mode("s", mode)

    assert refused(harness, "s", B) == "Subject s in context  is in read-only mode"
    assert harness.register("s", A) == 1
    assert harness.register("t", B) == 2


def test_the_mode_of_a_context_holds_for_its_subjects(harness: Harness) -> None:
    harness.set_mode(":.dev:", "READONLY")
    harness.set_mode(":.dev:open", "READWRITE")

    message = refused(harness, ":.dev:s", A)

    assert message == "Subject :.dev:s in context :.dev: is in read-only mode"
    assert harness.register(":.dev:open", A) == 1
    assert harness.register("s", A) == 1


def test_a_deleted_mode_is_answered_and_gone(harness: Harness) -> None:
    harness.set_mode("s", "READONLY")

    assert shown(harness.commit(harness.registry.delete_mode("s"))) == {"mode": "READONLY"}

    with pytest.raises(RequestError) as caught:
        harness.registry.delete_mode("s")
    assert (caught.value.code, caught.value.message) == (40401, "Subject 's' not found.")


def test_a_recursive_delete_takes_the_modes_of_the_subjects_of_a_context(
    harness: Harness,
) -> None:
    for subject in (":.dev:", ":.dev:s", ":.dev:t", "s", ":.qa:s"):
        harness.set_mode(subject, "READONLY")

    answer = harness.commit(harness.registry.delete_mode(":.dev:", recursive=True))

    assert shown(answer) == {"mode": "READONLY"}
    assert set(harness.registry.state.scopes.modes) == {"s", ":.qa:s"}


def test_a_recursive_delete_needs_no_mode_of_the_context_itself(harness: Harness) -> None:
    harness.set_mode("s", "READONLY")
    harness.set_mode(":.dev:s", "READONLY")

    answer = harness.commit(harness.registry.delete_mode(None, recursive=True))
    dev = harness.commit(harness.registry.delete_mode(":.dev:", recursive=True))

    assert shown(answer) == {"mode": "READWRITE"}
    assert shown(dev) == {}
    assert harness.registry.state.scopes.modes == {}


# IMPORT


def test_a_schema_with_an_id_needs_import_mode(harness: Harness) -> None:
    message = refused(harness, "s", A, id=5, version=2)

    assert message == "Subject s in context  is not in import mode"


def test_import_mode_takes_id_and_version_and_nothing_else(harness: Harness) -> None:
    harness.set_mode("s", "IMPORT")

    assert harness.register("s", A, id=50, version=7) == 50
    assert refused(harness, "s", B) == "Subject s in context  is not in read-write mode"
    assert harness.registry.versions("s") == (7,)
    assert harness.registry.schema_by_id(50).schema == A


def test_import_mode_checks_no_compatibility(harness: Harness) -> None:
    harness.set_mode("s", "IMPORT")

    harness.register("s", A, id=1, version=1)

    assert harness.register("s", '"int"', id=2, version=2) == 2


def test_importing_the_same_version_again_writes_nothing(harness: Harness) -> None:
    harness.set_mode("s", "IMPORT")
    harness.register("s", A, id=5, version=2)
    harness.register("s", A, id=5, version=3)

    for version in (2, 3):
        again = harness.registry.register("s", request(A, id=5, version=version))
        assert again.records == ()
        assert again.answer.schema.version == version


def test_import_mode_gives_the_next_version_to_a_schema_without_one(harness: Harness) -> None:
    harness.set_mode("s", "IMPORT")
    harness.register("s", A, id=5, version=2)

    harness.register("s", B, id=6)

    assert harness.registry.versions("s") == (2, 3)


def test_an_id_that_another_schema_has_is_refused(harness: Harness) -> None:
    harness.set_mode(None, "IMPORT")
    harness.register("s", A, id=5, version=1)

    message = refused(harness, "t", B, id=5, version=1)

    assert message == "Overwrite new schema with id 5 in context  is not permitted."
    assert harness.register("t", A, id=5, version=1) == 5
    harness.set_mode(":.dev:", "IMPORT")
    assert harness.register(":.dev:t", B, id=5, version=1) == 5


def test_references_metadata_and_rules_are_part_of_what_an_id_stands_for(harness: Harness) -> None:
    harness.register("base", string_record("T", "x"))
    harness.register("base", string_record("T", "x", optional=("y",)))
    harness.set_mode("s", "IMPORT")
    harness.set_mode("t", "IMPORT")
    user = '{"type":"record","name":"U","fields":[{"name":"t","type":"T"}]}'
    own: dict[str, Any] = {"references": [{"name": "T", "subject": "base", "version": 1}]}
    harness.register("s", user, id=50, version=1, **own)

    others: list[dict[str, Any]] = [
        {"references": [{"name": "T", "subject": "base", "version": 2}]},
        own | {"metadata": {"properties": {"a": "b"}}},
        own | {"ruleSet": {"domainRules": []}},
    ]
    for other in others:
        with pytest.raises(RequestError, match="Overwrite new schema with id 50"):
            harness.register("t", user, id=50, version=1, **other)
    assert harness.register("t", user, id=50, version=1, **own) == 50


def test_a_version_that_exists_keeps_its_id(harness: Harness) -> None:
    harness.set_mode("s", "IMPORT")
    harness.register("s", A, id=5, version=1)

    with pytest.raises(RequestError) as caught:
        harness.register("s", B, id=6, version=1)

    assert caught.value.code == 42207
    assert caught.value.message == "The ID of an imported schema does not match the existing ID"


def test_a_schema_may_be_imported_under_two_ids(harness: Harness) -> None:
    harness.set_mode(None, "IMPORT")
    harness.register("s", A, id=5, version=1)

    assert harness.register("t", A, id=6, version=1) == 6

    harness.set_mode(None, "READWRITE")
    assert harness.register("u", A) == 5
    assert harness.register("t", A) == 6


def test_an_import_below_a_soft_deleted_version_of_its_schema_keeps_that_version(
    harness: Harness,
) -> None:
    harness.set_mode("s", "IMPORT")
    harness.register("s", A, id=5, version=3)
    harness.commit(harness.registry.delete_version("s", "3"))

    harness.register("s", A, id=5, version=2)

    assert harness.registry.versions("s", deleted=True) == (2, 3)


def test_of_two_imported_versions_of_one_schema_the_later_one_is_found(harness: Harness) -> None:
    harness.set_mode("s", "IMPORT")
    harness.register("s", A, id=5, version=1)
    harness.register("s", A, id=5, version=2)

    assert harness.registry.look_up("s", request(A)).version == 2


def test_new_ids_follow_the_highest_imported_one(harness: Harness) -> None:
    harness.set_mode("s", "IMPORT")
    harness.register("s", A, id=1000, version=4)
    harness.set_mode("s", "READWRITE")

    assert harness.register("s", B) == 1001
    assert harness.registry.versions("s") == (4, 5)
    assert harness.registry.schema_by_id(1000, max_id=True).max_id == 1001


def test_an_overwritten_id_is_not_given_out_again(harness: Harness) -> None:
    harness.set_mode("s", "IMPORT")
    harness.register("s", A, id=50, version=1)
    harness.soft_delete("s")
    harness.register("s", B, id=2, version=1)
    harness.set_mode("s", "READWRITE")
    compacted = Harness()
    for key, value in {key: value for key, value, _ in harness.log}.items():
        compacted.append(key, value)

    assert harness.register("t", '"int"') == 51
    assert compacted.register("t", '"int"') == 51


def test_the_highest_number_of_all_is_the_last(harness: Harness) -> None:
    harness.set_mode("s", "IMPORT")
    harness.register("s", A, id=2**31 - 1, version=1)
    harness.set_mode("s", "READWRITE")

    with pytest.raises(RequestError) as caught:
        harness.register("s", B)

    assert (caught.value.code, caught.value.status) == (50001, 500)


def test_import_mode_needs_a_subject_without_versions(harness: Harness) -> None:
    harness.register("s", A)

    for subject in ("s", None, ":.__GLOBAL:"):
        with pytest.raises(RequestError) as caught:
            harness.set_mode(subject, "IMPORT")
        assert caught.value.code == 42205
        assert caught.value.message == "Cannot import since found existing subjects"
    harness.set_mode(":.dev:", "IMPORT")
    harness.set_mode("s", "IMPORT", force=True)

    assert harness.register("s", B, id=9, version=5) == 9


def test_import_mode_forgets_soft_deleted_versions(harness: Harness) -> None:
    harness.register("s", A)
    harness.soft_delete("s")

    harness.set_mode("s", "IMPORT")

    assert harness.registry.subjects(deleted=True) == ()
    assert harness.keys()[-4:] == [
        "SCHEMA s v1 tombstone",
        "NOOP duolog.highest.ids",
        "CLEAR_SUBJECT s",
        "MODE s",
    ]


def test_import_mode_forgets_nothing_that_is_referred_to(harness: Harness) -> None:
    harness.register("base", string_record("T", "x"))
    harness.register(
        "s",
        '{"type":"record","name":"U","fields":[{"name":"t","type":"T"}]}',
        references=[{"name": "T", "subject": "base", "version": 1}],
    )
    harness.soft_delete("s")
    harness.soft_delete("base")

    with pytest.raises(RequestError) as caught:
        harness.set_mode("base", "IMPORT")

    assert caught.value.code == 42206
