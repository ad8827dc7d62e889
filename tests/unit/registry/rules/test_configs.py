from typing import TYPE_CHECKING

import pytest

from duolog.registry.errors import RequestError
from duolog.registry.records.values import CompatibilityLevel
from duolog.registry.rules import ConfigRequest, RulesSettings
from unit.registry.harness import Harness, registry_of, request, shown, string_record

if TYPE_CHECKING:
    from duolog.registry.json_text import Json

A = string_record("A", "x")


def level(harness: Harness, subject: str | None, *, default_to_global: bool = False) -> object:
    answer = shown(harness.registry.config(subject, default_to_global=default_to_global))
    assert isinstance(answer, dict)
    return answer.get("compatibilityLevel")


def test_the_global_level_is_backward_until_it_is_set(harness: Harness) -> None:
    assert shown(harness.registry.config(None)) == {"compatibilityLevel": "BACKWARD"}

    harness.configure(None, compatibility="FULL")

    assert shown(harness.registry.config(None)) == {"compatibilityLevel": "FULL"}


def test_the_default_level_is_a_setting() -> None:
    settings = RulesSettings(compatibility_level=CompatibilityLevel.NONE)

    assert level(Harness(registry_of(settings)), None) == "NONE"


def test_a_subject_without_a_configuration_has_code_40408_unless_defaulted(
    harness: Harness,
) -> None:
    harness.configure(None, compatibility="FULL")

    with pytest.raises(RequestError) as caught:
        harness.registry.config("s")

    assert caught.value.code == 40408
    assert caught.value.message == (
        "Subject 's' does not have subject-level compatibility configured"
    )
    assert level(harness, "s", default_to_global=True) == "FULL"


def test_an_unknown_subject_can_be_configured(harness: Harness) -> None:
    body = ConfigRequest.from_json({"compatibility": "full_transitive"})

    answer = harness.commit(harness.registry.change_config("unheard", body))

    assert shown(answer) == {"compatibility": "FULL_TRANSITIVE"}
    assert level(harness, "unheard") == "FULL_TRANSITIVE"


def test_a_change_keeps_what_it_does_not_name_and_null_takes_a_field_away(
    harness: Harness,
) -> None:
    harness.configure("s", compatibility="NONE", normalize=True, alias="t")
    body = ConfigRequest.from_json({"alias": None, "compatibilityGroup": "major"})

    answer = harness.commit(harness.registry.change_config("s", body))

    assert shown(answer) == {
        "normalize": True,
        "compatibility": "NONE",
        "compatibilityGroup": "major",
    }


def test_all_fields_are_shown(harness: Harness) -> None:
    fields: dict[str, Json] = {
        "alias": "a",
        "aliasForDeks": "b",
        "normalize": True,
        "validateFields": False,
        "validateNewSchemas": True,
        "validateRules": False,
        "compatibility": "FULL",
        "compatibilityPolicy": "STRICT",
        "compatibilityGroup": "g",
        "defaultMetadata": {"properties": {"a": "1"}},
        "overrideMetadata": {"tags": {"x": ["PII"]}},
        "defaultRuleSet": {"enableAt": "ALL"},
        "overrideRuleSet": {},
    }
    harness.configure("s", **fields)

    expected: dict[str, Json] = {
        "compatibilityLevel" if name == "compatibility" else name: value
        for name, value in fields.items()
    }
    expected["overrideMetadata"] = {"tags": {"x": ("PII",)}}
    assert shown(harness.registry.config("s")) == expected


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({"compatibility": "HALF"}, 42203, "Invalid compatibility level. Valid values are none,"),
        (
            {"defaultRuleSet": {"domainRules": [{"name": "1", "type": "CEL"}]}},
            42210,
            "Illegal initial character",
        ),
        (
            {"overrideRuleSet": {"migrationRules": [{"name": "a", "type": "CEL"}]}},
            42210,
            "Migration rules can only be",
        ),
    ],
)
def test_values_that_are_not_valid_are_refused(
    harness: Harness, body: dict[str, str], code: int, message: str
) -> None:
    for subject in (None, "s"):
        with pytest.raises(RequestError, match=message) as caught:
            harness.registry.change_config(subject, ConfigRequest.from_json(body))
        assert caught.value.code == code


def test_a_deleted_configuration_is_answered_and_gone(harness: Harness) -> None:
    harness.configure("s", compatibility="NONE")
    harness.configure(None, compatibility="FULL")

    deleted = harness.commit(harness.registry.delete_config("s"))
    deleted_global = harness.commit(harness.registry.delete_config(None))

    assert shown(deleted) == {"compatibilityLevel": "NONE"}
    assert shown(deleted_global) == {"compatibilityLevel": "FULL"}
    assert level(harness, None) == "BACKWARD"
    with pytest.raises(RequestError) as caught:
        harness.registry.delete_config("s")
    assert (caught.value.code, caught.value.message) == (40401, "Subject 's' not found.")


def test_the_scope_is_subject_then_context_then_all_contexts(harness: Harness) -> None:
    def levels() -> list[object]:
        return [
            level(harness, subject, default_to_global=True)
            for subject in ("s", ":.dev:s", ":.dev:t")
        ]

    assert levels() == ["BACKWARD", "BACKWARD", "BACKWARD"]
    harness.configure(":.__GLOBAL:", compatibility="FORWARD")
    assert levels() == ["FORWARD", "FORWARD", "FORWARD"]
    harness.configure(None, compatibility="FULL")
    assert levels() == ["FULL", "FORWARD", "FORWARD"]
    harness.configure(":.dev:", compatibility="NONE")
    assert levels() == ["FULL", "NONE", "NONE"]
    harness.configure(":.dev:s", compatibility="FULL_TRANSITIVE")
    assert levels() == ["FULL", "FULL_TRANSITIVE", "NONE"]


def test_a_subject_inherits_the_fields_that_it_leaves_open_from_the_global_one(
    harness: Harness,
) -> None:
    harness.configure(
        None,
        normalize=True,
        validateFields=True,
        compatibilityGroup="g",
        compatibilityPolicy="LENIENT",
        alias="not inherited",
        defaultMetadata={"properties": {"not": "inherited"}},
    )
    harness.configure("s", compatibility="NONE", validateFields=False)

    assert shown(harness.registry.config("s", default_to_global=True)) == {
        "normalize": True,
        "validateFields": False,
        "compatibilityLevel": "NONE",
        "compatibilityPolicy": "LENIENT",
        "compatibilityGroup": "g",
    }


@pytest.mark.parametrize("name", ["", ":.:"])
def test_the_default_context_is_global(harness: Harness, name: str) -> None:
    harness.configure(name, compatibility="NONE")

    assert level(harness, None) == "NONE"


def test_an_alias_stands_for_its_subject(harness: Harness) -> None:
    harness.register("real", A)
    harness.configure("other", alias="real")
    registry = harness.registry

    assert registry.version("other", "1").subject == "real"
    assert registry.look_up("other", request(A)).subject == "real"
    assert harness.register("other", A) == 1
    assert registry.versions("other") == (1,)
    assert registry.schema_by_id(1, subject="other").version == 1
    assert registry.schemas("", aliases=True)[0].aliases == ("other",)
    assert harness.soft_delete("other") == (1,)
    assert registry.subjects() == ()


def test_an_alias_stays_in_its_context_unless_qualified(harness: Harness) -> None:
    harness.register(":.dev:real", A)
    harness.configure(":.dev:other", alias="real")
    harness.configure("far", alias=":.dev:real")

    assert harness.registry.version(":.dev:other", "1").subject == ":.dev:real"
    assert harness.registry.version("far", "1").subject == ":.dev:real"


def test_a_read_only_subject_keeps_its_configuration(harness: Harness) -> None:
    harness.configure("s", compatibility="NONE")
    harness.set_mode(None, "READONLY")

    for subject in ("s", None):
        with pytest.raises(RequestError, match="is in read-only mode") as changed:
            harness.registry.change_config(subject, ConfigRequest({}))
        with pytest.raises(RequestError, match="is in read-only mode") as deleted:
            harness.registry.delete_config(subject)
        assert changed.value.code == deleted.value.code == 42205
