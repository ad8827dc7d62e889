"""Hostile names, numbers and texts: refused at once, with the right code."""

from collections.abc import Mapping

import pytest

from duolog.registry.errors import RequestError
from duolog.registry.json_text import load
from duolog.registry.rules import ConfigRequest, ModeRequest, RegisterRequest, RulesSettings
from duolog.schemas.languages import parse
from duolog.schemas.schema import Language, Schema
from unit.registry.harness import Harness, registry_of, request, string_record

A = string_record("A", "x")
UNPRINTABLE = ["\0", "a\0b", "a\nb", "\x7f", "\x85", "\ud800"]
PATHS = ["../x", "..", "a/../b", "a/..", "./a", ".", ":.dev:../x"]
BAD = ["", *UNPRINTABLE, *PATHS, "__GLOBAL", "__EMPTY", "a" * 1_000_000]


@pytest.mark.parametrize("subject", [*BAD, "*", ":.dev:", ":.", ":.dev:\0"], ids=ascii)
def test_a_subject_that_is_not_valid_has_code_42208(harness: Harness, subject: str) -> None:
    with pytest.raises(RequestError) as caught:
        harness.registry.register(subject, request(A))

    assert (caught.value.code, caught.value.status) == (42208, 422)
    assert len(caught.value.message) < 200
    caught.value.message.encode()


@pytest.mark.parametrize("subject", [name for name in BAD if name], ids=ascii)
def test_settings_of_a_subject_that_is_not_valid_have_code_42208(
    harness: Harness, subject: str
) -> None:
    for change in (
        lambda: harness.registry.change_config(subject, ConfigRequest({})),
        lambda: harness.registry.change_mode(subject, ModeRequest("READONLY")),
    ):
        with pytest.raises(RequestError) as caught:
            change()
        assert caught.value.code == 42208


@pytest.mark.parametrize("alias", ["a\0", ":.__GLOBAL:a", ":.dev:", "a" * 10_000], ids=ascii)
def test_an_alias_that_is_not_valid_has_code_42208(harness: Harness, alias: str) -> None:
    harness.configure("s", alias=alias)

    with pytest.raises(RequestError) as caught:
        harness.register("s", A)

    assert caught.value.code == 42208


@pytest.mark.parametrize(
    "subject", ["..x", "a..", "a/b", "a./b", ".a/b", "%00", "ä", "😀", "a b", "...", "$ref", "a:b"]
)
def test_other_names_are_names_as_any(harness: Harness, subject: str) -> None:
    harness.register(subject, A)

    assert harness.registry.subjects() == (subject,)
    assert harness.soft_delete(subject) == (1,)
    assert harness.hard_delete(subject) == (1,)


@pytest.mark.parametrize("subject", BAD, ids=ascii)
def test_reading_a_name_that_is_not_valid_finds_nothing(harness: Harness, subject: str) -> None:
    registry = harness.registry
    for read in (
        lambda: registry.versions(subject),
        lambda: registry.version(subject, "1"),
        lambda: registry.look_up(subject, request(A)),
        lambda: registry.delete_subject(subject),
        lambda: registry.delete_version(subject, "1"),
    ):
        with pytest.raises(RequestError) as caught:
            read()
        assert caught.value.code == 40401


@pytest.mark.parametrize(
    "body",
    [
        {"schema": "\ud800"},
        {"schema": A, "metadata": {"properties": {"\udfff": "1"}}},
        {"schema": A, "id": 10**10_000},
        {"schema": A, "id": 2**31},
        {"schema": A, "version": float("nan")},
        {"schema": A, "references": {"name": "a"}},
        {"schema": A, "ruleSet": {"domainRules": [{"disabled": "maybe"}]}},
    ],
    ids=",".join,
)
def test_a_field_that_no_registry_can_hold_has_code_400(body: dict[str, str]) -> None:
    with pytest.raises(RequestError) as caught:
        RegisterRequest.from_json(body)

    assert caught.value.code == 400
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    "text",
    [
        "[" * 1_000_000,
        '{"a":' * 500_000,
        "[" * 201 + "]" * 201,
        '"' + "\\" * 1_000_001,
        "[" * 300 + '"' + '\\"' * 500_000,
        '{"a":[1,' + "[]," * 300_000,
        "1" * 10_000,
        "",
        "\0",
        b"\xff",
    ],
    ids=lambda text: f"{text[:6]!r} of {len(text)}",
)
def test_json_that_would_cost_a_recursion_is_no_json(text: str | bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of any kind
        load(text)


def test_many_small_parts_are_not_deep() -> None:
    assert len(load("[" + "[{}]," * 100_000 + "1]")) == 100_001  # type: ignore[arg-type]


def test_brackets_within_a_text_are_not_depth() -> None:
    assert load('"' + "[" * 10_000 + '"') == "[" * 10_000
    assert load("[" * 200 + "]" * 200)
    assert load('["' + "[" * 10_000 + '\\"]","]"]') == ["[" * 10_000 + '"]', "]"]


def test_a_schema_of_1_mb_is_refused_as_too_large(harness: Harness) -> None:
    with pytest.raises(RequestError) as caught:
        harness.register("s", string_record("A", *(f"f{number}" for number in range(40_000))))

    assert caught.value.code == 42209


def test_a_registration_parses_no_version_again() -> None:
    parsed: list[str] = []

    def parse_counted(
        language: Language, text: str, references: Mapping[str, str], *, strict: bool = True
    ) -> Schema:
        parsed.append(text)
        return parse(language, text, references, strict=strict)

    settings = RulesSettings(parsed_chars_max=1)
    harness = Harness(registry_of(settings, parse_counted))
    harness.configure("s", compatibility="NONE")
    for number in range(50):
        harness.register("s", string_record("A", f"f{number}"))
    parsed.clear()

    harness.register("s", string_record("A", "last"))

    assert len(parsed) <= 4
