from collections.abc import Iterator, Sequence

import pytest

from duolog.core.errors import StatementError
from duolog.runtime.dead_letters.corrections import ByFunction, Corrected, Fixed, Kept
from duolog.runtime.dead_letters.letter import Letter
from duolog.runtime.dead_letters.sql_corrections import BySql
from unit.runtime.dead_letters.making import headers, letter

LEFT_OUT = (("__duolog.errors.left.out", b"value"),)
ALL_LEFT_OUT = (("__duolog.errors.left.out", b"key, value, headers, stacktrace"),)


def by_sql(letters: Sequence[Letter], key: str = "", value: str = "") -> Sequence[Corrected | Kept]:
    with BySql(key, value) as correction:
        return correction.of(letters)


def test_expressions_see_the_error_and_the_source() -> None:
    (found,) = by_sql(
        [letter(3, b"1,5")],
        "SOURCE_TOPIC + '-' + CAST(SOURCE_OFFSET AS STRING)",
        "REPLACE(VALUE, ',', '.') + ' ' + ERROR_MESSAGE",
    )

    assert found == Corrected(b"orders-7", b"1.5 cannot read it", ())


def test_each_letter_gets_its_own_result() -> None:
    letters = [letter(n, str(n).encode(), partition=n % 3) for n in range(1_000)]

    found = by_sql(letters, value="VALUE + '!'")

    assert [one.value for one in found if isinstance(one, Corrected)] == [
        f"{n}!".encode() for n in range(1_000)
    ]


def test_bytes_can_be_corrected() -> None:
    (found,) = by_sql([letter(0, b"\x00\xff")], value="VALUE_BYTES")
    (not_text,) = by_sql([letter(0, b"\x00\xff")], value="VALUE")

    assert found == Corrected(b"k", b"\x00\xff", ())
    assert not_text == Kept("the expression for the value is null")


def test_positions_that_kafka_cannot_have_do_not_end_a_correction() -> None:
    far = letter(0, b"v", of=headers("orders", 0, 10**19 - 1))

    assert by_sql([far], value="VALUE + '!'") == [Corrected(b"k", b"v!", ())]


def test_one_failing_letter_does_not_keep_the_others() -> None:
    letters = [letter(n, text) for n, text in enumerate((b"1", b"x", b"3"))]

    found = by_sql(letters, value="CAST(CAST(VALUE AS INT) + 1 AS STRING)")

    assert found[0] == Corrected(b"k", b"2", ())
    assert isinstance(found[1], Kept)
    assert found[2] == Corrected(b"k", b"4", ())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "VALUE FROM LETTERS; SELECT VALUE",
        "VALUE, KEY",
        "VALUE AS V FROM LETTERS WHERE VALUE = 'x' --",
        "DISTINCT VALUE",
        "NO_SUCH_COLUMN",
        "1 + 1",
        "COUNT(*)",
        "EXPLODE(SPLIT(VALUE, ','))",
        "UCASE(EXPLODE(SPLIT(VALUE, ',')))",
        "(SELECT VALUE FROM read_csv('/etc/passwd'))",
        "read_text('/etc/passwd')",
        "VALUE /*",
        "*",
    ],
)
def test_only_one_text_or_bytes_expression_is_accepted(text: str) -> None:
    if not text:
        (same,) = by_sql([letter()])
        assert same == Corrected(b"k", b"v", ())
        return
    with pytest.raises(StatementError):
        by_sql([letter()], value=text)


def test_values_that_were_left_out_must_be_given() -> None:
    part, nothing = letter(0, None, more=LEFT_OUT), letter(0, None, None, more=ALL_LEFT_OUT)

    assert isinstance(Fixed().of([part])[0], Kept)
    assert Fixed(value=b"new").of([part]) == [Corrected(b"k", b"new", ())]
    assert isinstance(Fixed(value=b"new").of([nothing])[0], Kept)
    whole = Fixed(b"k", b"v", (("h", b"x"),))
    assert whole.of([nothing]) == [Corrected(b"k", b"v", (("h", b"x"),))]
    assert isinstance(by_sql([part], key="'x'")[0], Kept)
    assert by_sql([part], value="KEY") == [Corrected(b"k", b"k", ())]


def test_a_function_returns_a_value_a_pair_or_false() -> None:
    def of(result: object) -> Corrected | Kept:
        return ByFunction(lambda _: result).of([letter()])[0]

    assert of("é") == Corrected(b"k", "é".encode(), ())
    assert of(None) == Corrected(b"k", None, ())
    assert of((None, b"x")) == Corrected(None, b"x", ())
    assert of(bytearray(b"x")) == Corrected(b"k", b"x", ())
    assert of(result=False) == Kept("left by the function")
    wrong = of(7)
    assert isinstance(wrong, Kept)
    assert wrong.failed
    assert "it returned int" in wrong.why


def test_a_function_does_not_turn_parts_that_were_left_out_into_nulls() -> None:
    part, nothing = letter(0, None, more=LEFT_OUT), letter(0, None, None, more=ALL_LEFT_OUT)
    same = ByFunction(lambda one: (one.record.key, one.record.value))
    new = ByFunction(lambda _: "new")

    assert same.of([part]) == [Kept("too large for its topic, without value")]
    assert new.of([part]) == [Corrected(b"k", b"new", ())]
    assert isinstance(new.of([nothing])[0], Kept)


def test_an_exception_of_a_function_is_reported() -> None:
    def fail(_: Letter) -> Iterator[object]:
        raise ValueError("unlucky")

    (found,) = ByFunction(fail).of([letter()])

    assert found == Kept("the function failed: ValueError: unlucky", failed=True)
