import subprocess
import sys

import pytest

import duolog
from duolog import coalesce, col, concat, greatest, least, lit, when
from duolog.dsl.expressions.columns import Expr


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (1 - col("a"), "(1 - a)"),
        (col("a") * 2 + 1, "((a * 2) + 1)"),
        (2 / col("a") % 3, "((2 / a) % 3)"),
        (-col("a"), "-(a)"),
        (abs(col("a")), "ABS(a)"),
        ((col("a") != 1) | (col("b") == "x"), "((a <> 1) OR (b = 'x'))"),
        (~(col("a") >= 1) & True, "(NOT((a >= 1)) AND TRUE)"),
        (False | (col("a") < 1), "(FALSE OR (a < 1))"),
        (col("a").between(1, 2), "BETWEEN(a, 1, 2)"),
        (col("a").like("U%"), "(a LIKE 'U%')"),
        (col("a b").cast("STRING").substring(1, 3), "SUBSTRING(CAST(`a b` AS STRING), 1, 3)"),
        (coalesce(col("a"), lit(None)), "COALESCE(a, NULL)"),
        (concat(col("a"), "'s"), "CONCAT(a, '''s')"),
        (greatest(col("a"), 1), "GREATEST(a, 1)"),
        (least(col("a"), 1.5), "LEAST(a, 1.5)"),
        (when(col("a"), 1).when(col("b"), 2), "CASE(a, 1, b, 2)"),
        (col("a").round(2), "ROUND(a, 2)"),
        (col("a").trim().lower().length(), "LENGTH(LOWER(TRIM(a)))"),
    ],
    ids=repr,
)
def test_an_expression_is_displayed_as_it_was_written(written: Expr, text: str) -> None:
    assert str(written.expression) == text


def test_a_column_keeps_its_name_through_a_cast_and_takes_an_alias() -> None:
    assert col("a").cast("INT").name == "a"
    assert (col("a") + 1).alias("b").name == "b"
    assert (col("a") + 1).name is None


def test_importing_duolog_loads_no_spark_and_no_submodules() -> None:
    program = (
        "import sys, duolog; duolog.__version__; "
        "print([m for m in sys.modules if m.startswith(('duolog.', 'pyspark', 'kio'))])"
    )

    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )

    assert found.stdout.strip() == "[]"


def test_every_public_name_can_be_imported() -> None:
    for name in duolog.__all__:
        assert getattr(duolog, name) is not None


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="StreamsBuilder"):
        _ = duolog.StreamsBuilder
