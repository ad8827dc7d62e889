"""Regular expressions of ECMA-262 are checked, translated for RE2 and run in linear time."""

import re
import time

import pytest

from duolog.schemas.json_schema.patterns import Pattern, translate


@pytest.mark.parametrize(
    ("expression", "matching", "other"),
    [
        ("^a.c$", "abc", "a\nc"),
        ("a.c", "xabcx", "a\u2028c"),
        ("b", "abc", "ac"),
        (r"^\d{3}-\d{2}$", "123-45", "12٣-45"),
        (r"^\w+$", "a_1", "é"),
        (r"^[^\s@]+@[^\s@]+$", "a@b", "a b@c"),
        (r"^\s$", "\v", "\u00a0"),
        ("^[[]$", "[", "]"),
        ("^[^]$", "\n", ""),
        ("^[]?$", "", "a"),
        (r"^\u0041\x42\cA\0$", "AB\x01\x00", "AB"),
        (r"^\u{1F600}$", "😀", "😁"),
        (r"^\ud83d\ude00$", "😀", "😁"),
        (r"^[\ud83d\ude00-\ud83d\ude05]$", "😁", "😎"),
        (r"^\p{Lu}\p{Letter}*$", "Éa", "éa"),
        (r"^\p{Script=Greek}$", "\u03b1", "a"),
        (r"^[\w-]+$", "a-b", "a+b"),
        ("^[+--]$", ",", "a"),
        (r"^[a-\d]$", "-", "b"),
        (r"^[\b]$", "\b", "b"),
        ("^a{$", "a{", "a"),
        ("^{a}$", "{a}", "a"),
        (r"^\/\-\.$", "/-.", "/-a"),
        ("^(?<year>[0-9]{4})$", "2024", "24"),
        ("^(?i)ABC$", "abc", "abd"),
        ("^a{2,}$", "aaa", "a"),
        ("^(?:ab){2}?$", "abab", "ab"),
        ("^.{0,2500}$", "x" * 2500, "x" * 2501),
        ("^(ab){1500}$", "ab" * 1500, "ab" * 1499),
        ("^a{1500,}$", "a" * 1600, "a" * 1499),
        ("^$", "", "a"),
        ("", "anything", None),
    ],
)
def test_an_expression_means_what_it_means_in_ecma_262(
    expression: str, matching: str, other: str | None
) -> None:
    pattern = Pattern(expression)

    assert pattern.found_in(matching) is True
    assert other is None or pattern.found_in(other) is False


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("(", "a group is not closed"),
        ("(?", "nothing to repeat before ?"),
        ("a)", "a group is closed that was not opened"),
        ("[a", "a class of characters is not closed"),
        ("[a-", "a class of characters is not closed"),
        ("*a", "nothing to repeat before *"),
        ("a|+", "nothing to repeat before +"),
        ("a**", "nothing to repeat before *"),
        ("{1}", "nothing to repeat before {1}"),
        ("[b-a]", "a range of characters is out of order"),
        ("a\\", "it ends with a backslash"),
        ("[\\", "it ends with a backslash"),
        ("a{2,1}", "{2,1} has its numbers in the wrong order"),
        (r"\u{110000}", "U+110000 is not a character"),
    ],
)
def test_an_invalid_expression_is_refused_with_the_reason(expression: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
        translate(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "a(?=b)", "(?!a)b", "(?<=a)b", "(?<!a)b", r"(a)\1", r"(?<n>a)\k<n>", "(?>a)", "a++", r"a\Z",
        "a{20000}", "(a{1000}){1000}", r"\p{L}{1000}", r"\p{NoSuchProperty}", "a" * 20_000,
        "(" * 50 + "a" + "){9999}" * 50,
    ],
)  # fmt: skip
def test_an_expression_that_re2_lacks_is_valid_but_is_not_run(expression: str) -> None:
    assert Pattern(expression).found_in("a") is None


def test_a_surrogate_without_a_partner_matches_nothing() -> None:
    assert Pattern("a").found_in("\ud800") is False
    assert Pattern(r"\ud800").found_in("a") is False


@pytest.mark.parametrize(
    "expression", ["(a|b)" * 100_000, "(" * 300_000 + ")" * 300_000, "a{9999}" * 50_000, "[" * 500_000 + "]"]
)  # fmt: skip
def test_the_syntax_is_checked_in_linear_time(expression: str) -> None:
    started = time.process_time()

    translate(expression)

    assert time.process_time() - started < 5
