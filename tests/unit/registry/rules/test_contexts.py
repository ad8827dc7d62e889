import pytest

from duolog.registry.errors import RequestError
from duolog.registry.names import in_context
from duolog.registry.rules import Page
from unit.registry.harness import Harness, string_record

A = string_record("A", "x")


def test_the_default_context_is_always_there(harness: Harness) -> None:
    assert harness.registry.contexts() == (".",)


def test_contexts_are_listed_with_prefix_and_pages(harness: Harness) -> None:
    for context in (".qa", ".dev", ".devil"):
        harness.register(f":{context}:s", A)

    registry = harness.registry
    assert registry.contexts() == (".", ".dev", ".devil", ".qa")
    assert registry.contexts(prefix=".dev") == (".dev", ".devil")
    assert registry.contexts(page=Page(1, 2)) == (".dev", ".devil")


def test_an_empty_context_can_be_deleted(harness: Harness) -> None:
    harness.register(":.dev:s", A)
    harness.soft_delete(":.dev:s")
    harness.hard_delete(":.dev:s")
    assert harness.registry.contexts() == (".", ".dev")

    harness.commit(harness.registry.delete_context(":.dev:"))

    assert harness.registry.contexts() == (".",)


def test_a_context_with_versions_has_code_42211(harness: Harness) -> None:
    harness.register(":.dev:s", A)
    harness.soft_delete(":.dev:s")

    with pytest.raises(RequestError) as caught:
        harness.registry.delete_context(":.dev:")

    text = "The specified context ':.dev:' is not empty."
    assert (caught.value.code, caught.value.status, caught.value.message) == (42211, 422, text)


def test_the_default_context_is_not_empty_if_it_has_versions(harness: Harness) -> None:
    harness.register(":.dev:s", A)
    assert harness.registry.delete_context(":.:").answer is None

    harness.register("s", A)

    with pytest.raises(RequestError):
        harness.registry.delete_context(":.:")


@pytest.mark.parametrize(
    ("context", "subject", "qualified"),
    [
        (".dev", "s", ":.dev:s"),
        ("dev", "s", ":.dev:s"),
        (":.dev:", "s", ":.dev:s"),
        (".", "s", "s"),
        (".dev", ":.qa:s", ":.qa:s"),
        (".dev", ":*:s", ":*:s"),
        (".dev", "", ":.dev:"),
    ],
)
def test_a_path_below_a_context_qualifies_the_subject(
    context: str, subject: str, qualified: str
) -> None:
    assert in_context(context, subject) == qualified


def test_a_context_has_no_colon() -> None:
    with pytest.raises(ValueError, match="cannot contain a colon"):
        in_context("a:b", "s")


@pytest.mark.parametrize("subject", [":.__GLOBAL:s", ":.__GLOBAL:", ":*:s"])
def test_no_schema_is_registered_for_all_contexts(harness: Harness, subject: str) -> None:
    with pytest.raises(RequestError) as caught:
        harness.register(subject, A)

    assert caught.value.code == 42208
