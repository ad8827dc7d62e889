"""Calls of SQL functions, by the types of their arguments."""

import pytest

from duolog.plan.errors import TypeMismatch
from duolog.plan.sql.registry import SQL_FUNCTIONS
from duolog.plan.sql.signatures import UNIT, AmbiguousCall
from duolog.plan.types import NULL, Type, parse_type

_ENTRIES = "ARRAY<STRUCT<K STRING, V DOUBLE>>"


def _types(text: str) -> tuple[Type, ...]:
    named = {"UNIT": UNIT, "NULL": NULL, "TIME": Type("TIME")}
    return tuple(named.get(part) or parse_type(part) for part in text.split(" & ") if part.strip())


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("ABS", "DECIMAL(4,2)", "DECIMAL(4,2)"),
        ("FLOOR", "DOUBLE", "DOUBLE"),
        ("ROUND", "DOUBLE", "BIGINT"),
        ("ROUND", "DOUBLE & INT", "DOUBLE"),
        ("ROUND", "DECIMAL(6,2)", "DECIMAL(4,0)"),
        ("ROUND", "DECIMAL(2,2)", "DECIMAL(1,0)"),
        ("TRUNC", "DECIMAL(6,2) & INT", "DECIMAL(6,2)"),
        ("SIGN", "DOUBLE", "INT"),
        ("LN", "DECIMAL(6,2)", "DOUBLE"),
        ("PI", "", "DOUBLE"),
        ("LEAST", "DECIMAL(4,1) & DECIMAL(5,3)", "DECIMAL(6,3)"),
        ("LEAST", "INT & NULL & INT", "INT"),
        ("GREATEST", "INT & DOUBLE", "DOUBLE"),
        ("GREATEST", "DATE & STRING", "DATE"),
        ("ARRAY_JOIN", "ARRAY<DECIMAL(3,1)> & STRING", "STRING"),
        ("GENERATE_SERIES", "INT & BIGINT", "ARRAY<BIGINT>"),
        ("AS_MAP", "ARRAY<STRING> & ARRAY<INT>", "MAP<STRING, INT>"),
        ("ENTRIES", "MAP<STRING, DOUBLE> & BOOLEAN", _ENTRIES),
        ("DATEADD", "UNIT & INT & DATE", "DATE"),
        ("FORMAT_TIMESTAMP", "TIMESTAMP & STRING & STRING", "STRING"),
        ("UNIX_DATE", "", "INT"),
        ("COALESCE", "NULL & ARRAY<INT>", "ARRAY<INT>"),
        ("COALESCE", "DECIMAL(4,2) & DECIMAL(5,1)", "DECIMAL(6,2)"),
        ("GEO_DISTANCE", "DOUBLE & DOUBLE & INT & INT", "DOUBLE"),
    ],
)
def test_the_result_type_of_a_call_depends_on_its_arguments(
    name: str, arguments: str, result: str
) -> None:
    assert SQL_FUNCTIONS[name].type_of(_types(arguments)) == parse_type(result)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("LEAST", ""),
        ("LEAST", "STRING & INT"),
        ("GREATEST", "BOOLEAN & BOOLEAN"),
        ("DATEADD", "DATE & INT & DATE"),
        ("TIMESUB", "UNIT & INT & DATE"),
        ("MAP_KEYS", "ARRAY<INT>"),
        ("ARRAY_CONTAINS", "ARRAY<INT> & STRING"),
        ("ARRAY_JOIN", "ARRAY<DATE>"),
    ],
)
def test_arguments_of_wrong_types_are_refused(name: str, arguments: str) -> None:
    with pytest.raises(TypeMismatch):
        SQL_FUNCTIONS[name].resolve(_types(arguments))


def test_several_overloads_that_need_casts_are_ambiguous() -> None:
    with pytest.raises(AmbiguousCall):
        SQL_FUNCTIONS["GREATEST"].resolve(_types("INT & BIGINT & DECIMAL(20,2)"))


def test_each_public_function_has_a_description() -> None:
    listed = [function for function in SQL_FUNCTIONS.values() if not function.hidden]

    assert [one.name for one in listed if not one.description or not one.family] == []
