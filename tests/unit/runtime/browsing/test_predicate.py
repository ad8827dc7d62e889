"""Predicates over decoded records: names, types, positions of errors, and what is refused."""

import json

import pytest

from duolog.runtime.browsing.budget import Budget, Limits
from duolog.runtime.browsing.decoding import Decoder
from duolog.runtime.browsing.errors import InvalidPredicate
from duolog.runtime.browsing.predicate import Predicate
from unit.runtime.browsing.making import browsed

RECORDS = [
    browsed(0, b"a", b'{"amount": 5, "name": "x", "nest": {"a": [1, 2]}}'),
    browsed(1, b"b", b'{"amount": 7.5, "key": 3, "Name": true}'),
    browsed(2, b"c", None),
    browsed(3, None, b"plain", (("h", b"v"),)),
    browsed(4, (9).to_bytes(8), b"[1]"),
]


def selected(text: str) -> list[int]:
    with Predicate(text, "orders", Decoder()) as predicate:
        found = predicate.selected(RECORDS, Budget())
    return [at for at, chosen in enumerate(found) if chosen]


@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        ("value->amount > 5", [1]),
        ("amount >= 5", [0, 1]),
        ("AMOUNT < 6 AND PARTITION = 0", [0]),
        ("offset IN (2, 4)", [2, 4]),
        ("value LIKE '%amount%'", [0, 1]),
        ("value = 'plain'", [3]),
        ("key = 'a' OR key IS NULL", [0, 3]),
        ("headers['h'] = 'v'", [3]),
        ("ts > '2023-11-14T22:13:19'", [0, 1, 2, 3, 4]),
        ("rowtime = 1700000000000 AND rowtopic = 'orders'", [0, 1, 2, 3, 4]),
        ("value->nest->a[1] = 1", [0]),
        ("nest->a[2] = 2", [0]),
        ("nest LIKE '%[1,2]%'", [0]),
        ("value[1] = 1", [4]),
        ("value IS NULL", [2]),
        ("`amount` = 5", [0]),
        ("key = '9'", [4]),
        ("key = 'partition' OR amount = 5 -- a comment", [0]),
        ("EXTRACTJSONFIELD(value, '$.name') = 'x'", [0]),
        ("amount / 0 > 1", [0, 1]),
    ],
)
def test_records_are_selected(text: str, offsets: list[int]) -> None:
    assert selected(text) == offsets


@pytest.mark.parametrize(
    ("text", "told", "place"),
    [
        ("amuont > 5", "column 'AMUONT' cannot be resolved", (1, 1, 6)),
        ("amount > 5 AND\n  value->amuont = 3", "field 'AMUONT' in 'VALUE'", (2, 8, 2)),
        ("amount >", "found the end", (1, 8, 0)),
        ("amount", "Should evaluate to boolean", (1, 1, 6)),
        ("partition + 'a' = 3", "(PARTITION + 'a')", (1, 11, 1)),
        ("1 = 1 LIMIT 1", "not one expression", (1, 1, 0)),
        ("1 = 1 GROUP BY key", "not one expression", (1, 1, 0)),
        ("1 = 1; DROP STREAM RECORDS", "not one expression", (1, 1, 0)),
        ("EXISTS (SELECT 1 FROM RECORDS)", "not one expression", (1, 1, 0)),
        ("EXPLODE(ARRAY[1]) = 1", "EXPLODE does not have one result", (1, 1, 0)),
        ("COUNT(*) > 1", "aggregate function", (1, 1, 5)),
        ("read_text('/etc/passwd') = ''", "Can't find any functions", (1, 1, 9)),
    ],
)
def test_errors_name_their_position(text: str, told: str, place: tuple[int, int, int]) -> None:
    with pytest.raises(InvalidPredicate) as refused:
        selected(text)

    error = refused.value
    assert told in error.message
    assert "RECORDS WHERE" not in error.message
    assert (error.line, error.column, error.length) == place


def test_an_unknown_field_is_named_with_one_like_it() -> None:
    with pytest.raises(InvalidPredicate) as refused:
        selected("value->amuont = 3")

    assert refused.value.detail == "None of the 5 records that were read has a field AMUONT."
    assert refused.value.hint == "Did you mean amount?"
    with pytest.raises(InvalidPredicate) as other:
        selected("value->zzz = 3")
    assert other.value.hint == "Fields are Name, amount, key, name, nest."


def test_types_widen_with_later_records() -> None:
    with Predicate("amount > 2", "t", Decoder()) as predicate:
        whole = [browsed(at, None, b'{"amount": %d}' % at) for at in range(5)]
        assert predicate.selected(whole, Budget()) == [False, False, False, True, True]
        broken = [browsed(9, None, b'{"amount": 2.5}'), browsed(10, None, b'{"amount": 1.5}')]

        assert predicate.selected(broken, Budget()) == [True, False]
        # Digits beyond 64 bits do not fail.
        huge = [browsed(11, None, b'{"amount": 123456789012345678901234567890}')]
        assert predicate.selected(huge, Budget()) == [True]


def test_a_thousand_columns_cost_what_the_predicate_names() -> None:
    row = json.dumps({f"c{at}": at for at in range(1_000)}).encode()
    with Predicate("c999 = 999 AND c0 = 0", "t", Decoder()) as predicate:
        assert predicate.selected([browsed(0, None, row)], Budget()) == [True]
        assert len([name for name in predicate._types if name.startswith("C")]) == 2  # noqa: SLF001


SLOW = "REGEXP_EXTRACT('(x+x+)+y', value) IS NOT NULL"
"""Takes longer than the age of the world on a value of 200 KB, and DuckDB cannot interrupt it."""


def test_a_predicate_ends_at_its_limit_of_time_whatever_it_computes() -> None:
    records = [browsed(at, b"a", b"x" * 200_000) for at in range(20)]

    with Predicate(SLOW, "t", Decoder()) as predicate:
        with pytest.raises(InvalidPredicate, match="takes too long"):
            predicate.selected(records, Budget(Limits(seconds=2.0)))

        assert predicate.selected(RECORDS[:1], Budget()) == [False], "it can be used again"


def test_a_predicate_ends_when_its_client_needs_no_answer() -> None:
    asked = 0

    def stopped() -> bool:
        nonlocal asked
        asked += 1
        return asked > 2

    with (
        Predicate(SLOW, "t", Decoder()) as predicate,
        pytest.raises(InvalidPredicate, match="takes too long"),
    ):
        predicate.selected([browsed(0, b"a", b"x" * 200_000)], Budget(Limits(), stopped))
    assert asked == 3
