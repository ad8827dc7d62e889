import pytest

from duolog.registry.errors import RequestError
from duolog.registry.rules import Page, RulesSettings
from unit.registry.harness import Harness, registry_of, shown, string_record

A = string_record("A", "x")
B = string_record("A", "x", optional=("y",))


@pytest.fixture
def filled(harness: Harness) -> Harness:
    """Subjects in three contexts; `gone` is soft-deleted."""
    for subject in ("b", "a", "ab", "gone", ":.dev:a", ":.dev:z", ":.devil:a"):
        harness.register(subject, A)
    harness.register("a", B)
    harness.soft_delete("gone")
    return harness


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        (":*:", [":.dev:a", ":.dev:z", ":.devil:a", "a", "ab", "b"]),
        ("", ["a", "ab", "b"]),
        ("a", ["a", "ab"]),
        (":.:", ["a", "ab", "b"]),
        (":.dev:", [":.dev:a", ":.dev:z"]),
        (":.dev:z", [":.dev:z"]),
        (":.dev", [":.dev:a", ":.dev:z", ":.devil:a"]),
        (":*:a", [":.dev:a", ":.devil:a", "a", "ab"]),
        ("unheard", []),
    ],
)
def test_subjects_by_prefix(filled: Harness, prefix: str, expected: list[str]) -> None:
    assert list(filled.registry.subjects(prefix)) == expected


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (Page(0, -1), ["a", "ab", "b"]),
        (Page(0, 0), ["a", "ab", "b"]),
        (Page(1, 1), ["ab"]),
        (Page(1, -1), ["ab", "b"]),
        (Page(3, 5), []),
        (Page(-5, 2), ["a", "ab"]),
    ],
)
def test_pages(filled: Harness, page: Page, expected: list[str]) -> None:
    assert list(filled.registry.subjects("", page=page)) == expected


def test_lists_of_schemas_have_a_limit_of_their_own() -> None:
    harness = Harness(registry_of(RulesSettings(schema_page_max=2)))
    for subject in "abc":
        harness.register(subject, A)
    registry = harness.registry

    def names(page: Page) -> str:
        return "".join(answer.subject for answer in registry.schemas(page=page))

    assert names(Page()) == names(Page(0, 100)) == "ab"
    assert names(Page(0, 1)) == "a"
    assert names(Page(1, 2)) == "bc"
    assert len(registry.subjects()) == 3


def test_schemas_by_prefix(filled: Harness) -> None:
    registry = filled.registry

    def found(prefix: str = "", *, deleted: bool = False, latest_only: bool = False) -> list[str]:
        answers = registry.schemas(prefix, deleted=deleted, latest_only=latest_only)
        return [f"{answer.subject}/{answer.version}" for answer in answers]

    assert found() == ["a/1", "a/2", "ab/1", "b/1"]
    assert found(latest_only=True) == ["a/2", "ab/1", "b/1"]
    assert found("g", deleted=True) == ["gone/1"]
    assert found(":.dev:") == [":.dev:a/1", ":.dev:z/1"]


def test_schemas_by_the_type_of_a_rule(harness: Harness) -> None:
    harness.register("a", A, ruleSet={"domainRules": [{"name": "r", "type": "CEL"}]})
    harness.register("b", A, ruleSet={"encodingRules": [{"name": "r", "type": "ENCRYPT"}]})
    harness.register("c", A)

    found = harness.registry.schemas(rule_type="ENCRYPT")

    assert [answer.subject for answer in found] == ["b"]


def test_a_listed_schema_with_the_header(harness: Harness) -> None:
    harness.register("s", '"string"')
    harness.soft_delete("s")

    answer = harness.registry.schemas(deleted=True)[0]

    assert shown(answer, extended=True) == {
        "subject": "s",
        "version": 1,
        "id": 1,
        "guid": "095d71cf-1255-6b9d-5e33-0ad575b3df5d",
        "schemaType": "AVRO",
        "schema": '"string"',
        "ts": 1000,
        "deleted": True,
    }
    assert shown(answer) == {"subject": "s", "version": 1, "id": 1, "schema": '"string"'}


@pytest.mark.parametrize("version", ["2", "latest", "LATEST", " latest ", "-1", "+2"])
def test_a_version_by_its_number_or_latest(filled: Harness, version: str) -> None:
    assert filled.registry.version("a", version).version == 2


def test_versions_that_do_not_exist(filled: Harness) -> None:
    registry = filled.registry
    for subject, version, code, message in (
        ("none", "1", 40401, "Subject 'none' not found."),
        ("none", "latest", 40401, "Subject 'none' not found."),
        ("a", "9", 40402, "Version 9 not found."),
        ("gone", "1", 40401, "Subject 'gone' not found."),
        ("gone", "latest", 40401, "Subject 'gone' not found."),
    ):
        with pytest.raises(RequestError) as caught:
            registry.version(subject, version)
        assert (caught.value.code, caught.value.message) == (code, message)
    assert registry.version("gone", "1", deleted=True).id == 1


def test_an_unqualified_subject_is_read_from_another_context(filled: Harness) -> None:
    assert filled.registry.version("z", "1").subject == ":.dev:z"
    with pytest.raises(RequestError):
        filled.registry.version(":.devil:z", "1")


def test_the_type_of_other_languages_is_shown(harness: Harness) -> None:
    harness.register("s", "{}", schemaType="JSON")

    assert shown(harness.registry.version("s", "1")) == {
        "subject": "s",
        "version": 1,
        "id": 1,
        "schemaType": "JSON",
        "schema": "{}",
    }
    assert shown(harness.registry.schema_by_id(1)) == {"schemaType": "JSON", "schema": "{}"}


def test_the_three_languages(harness: Harness) -> None:
    assert shown(harness.registry.schema_types()) == ["AVRO", "JSON", "PROTOBUF"]
