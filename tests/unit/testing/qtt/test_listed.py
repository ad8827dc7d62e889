"""The list of cases that do not pass: a run reads what the previous one wrote."""

from pathlib import Path

import pytest

from duolog.testing.qtt.cases import Case
from duolog.testing.qtt.listed import BEGIN, END, brief, read_listed, write_listed
from duolog.testing.qtt.runner import Outcome, Status


def case(name: str, category: str = "joins") -> Case:
    return Case("a.json", category, name, (), {})


def outcome(name: str, status: Status, reason: str = "") -> Outcome:
    return Outcome(case(name), status, reason, 1)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "page.md"
    file.write_text(f"# Page\n\n{BEGIN}\n{END}\n\nThe end.\n")
    return file


def test_only_cases_that_do_not_pass_are_listed(page: Path) -> None:
    write_listed(
        page, [case("x"), case("y")], [outcome("x", "pass"), outcome("y", "fail", "no | y")]
    )

    assert {title: row.status for title, row in read_listed(page).items()} == {"a.json - y": "fail"}
    assert "| joins | 2 | 1 |" in page.read_text()
    assert page.read_text().startswith("# Page\n")
    assert page.read_text().endswith("\nThe end.\n")


def test_a_run_of_some_cases_does_not_change_the_others(page: Path) -> None:
    cases = [case("a `star`"), case("b")]
    write_listed(page, cases, [outcome("a `star`", "skip", "r"), outcome("b", "error", "r")])

    write_listed(page, cases, [outcome("b", "pass")])

    assert list(read_listed(page)) == ["a.json - a `star`"]


def test_the_page_does_not_depend_on_the_order(page: Path) -> None:
    cases = [case("a"), case("b", "windows"), case("c")]
    found = [outcome("c", "error", "e"), outcome("a", "fail", "f")]
    write_listed(page, cases, found)
    first = page.read_text()

    write_listed(page, cases, found[1:])
    write_listed(page, cases, found[:1])

    assert page.read_text() == first


def test_a_removed_case_is_removed_from_the_list(page: Path) -> None:
    write_listed(page, [case("a")], [outcome("a", "fail")])

    write_listed(page, [case("b")], [])

    assert read_listed(page) == {}


def test_a_page_without_a_marker_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("# Page\n")

    with pytest.raises(ValueError, match="has no place for cases"):
        read_listed(file)


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("OUTPUT record 3: key is '1', expected '2'", "OUTPUT record 3: key"),
        ("post: O: kind: 'STREAM', expected 'TABLE'", "post: O: kind"),
        ("topic O: expected 1 records, found 2: [(1, 2)]", "topic O: expected 1 records, found 2"),
        ("expected the error 'Line: 1 no', got 'yes\\nno'", "says 'yes"),
        ("expected the error 'no', and there was none", "raises no error"),
        ("SqlError: JOIN is not supported.\n  hint", "SqlError: JOIN is not supported."),
        ("a" * 200, "a" * 139 + "…"),
        ("", ""),
    ],
)
def test_a_reason_does_not_contain_the_values_of_its_case(reason: str, expected: str) -> None:
    assert brief(reason) == expected
