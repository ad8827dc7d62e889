"""Binding of expressions: types, values and errors."""

import datetime as dt
from decimal import Decimal as DecimalValue

import pytest
from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.binder import Binder, Bound
from duolog.ksql.expressions.scope import SqlScope, Visible
from duolog.ksql.expressions.timestamp_literals import millis_of
from duolog.ksql.session import parse
from duolog.ksql.syntax.types import sql_name
from duolog.plan.expressions import Call, ColumnRef, Literal, RowTime, Variable
from duolog.plan.types import BIGINT, STRING, TIME, Type, parse_type

COLUMNS = {
    "I": "INT",
    "B": "BIGINT",
    "D": "DOUBLE",
    "N": "DECIMAL(4,2)",
    "S": "STRING",
    "T": "BOOLEAN",
    "A": "ARRAY<BIGINT>",
    "M": "MAP<STRING, INT>",
    "R": "STRUCT<X INT, Y STRING>",
    "DAY": "DATE",
    "AT": "TIMESTAMP",
}


def binder(clause: str = "SELECT") -> Binder:
    types: dict[str, Type] = {name: parse_type(of) for name, of in COLUMNS.items()}
    types["CLOCK"] = TIME
    visible = [Visible("V", name, ColumnRef(name), of) for name, of in types.items()]
    visible.append(Visible("V", "ROWTIME", RowTime(), BIGINT, pseudo=True))
    return Binder(SqlScope(tuple(visible), clause), {})


def bind(text: str, clause: str = "SELECT") -> Bound:
    (statement,) = parse(" ".join(["CREATE STREAM O AS SELECT", text, "FROM V;"]))
    return binder(clause).bind(statement.args["expression"].expressions[0])


def type_of(text: str) -> str:
    return sql_name(bind(text).type)


def error_of(text: str, clause: str = "SELECT") -> str:
    with pytest.raises(SqlError) as raised:
        bind(text, clause)
    return raised.value.message


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("2147483647", "INTEGER"),
        ("-2147483648", "INTEGER"),
        ("2147483648", "BIGINT"),
        ("-9223372036854775808", "BIGINT"),
        ("0012.50", "DECIMAL(4, 2)"),
        ("0.05", "DECIMAL(2, 2)"),
        (".25", "DECIMAL(2, 2)"),
        ("1e3", "DOUBLE"),
        ("I / 2", "INTEGER"),
        ("I + B", "BIGINT"),
        ("N + I", "DECIMAL(13, 2)"),
        ("N * N", "DECIMAL(9, 4)"),
        ("N / N", "DECIMAL(11, 7)"),
        ("N % I", "DECIMAL(4, 2)"),
        ("N * D", "DOUBLE"),
        ("-N", "DECIMAL(4, 2)"),
        ("S + 'x'", "STRING"),
        ("ARRAY[NULL, 1, '3e9']", "ARRAY<DECIMAL(10, 0)>"),
        ("ARRAY[1, '2.5']", "ARRAY<DECIMAL(11, 1)>"),
        ("ARRAY['a', 1, true]", "ARRAY<STRING>"),
        ("ARRAY[STRUCT(X := 1), STRUCT(Z := S)]", "ARRAY<STRUCT<`X` INTEGER, `Z` STRING>>"),
        ("MAP('a' := I, S := B)", "MAP<STRING, BIGINT>"),
        ("STRUCT(X := I, `y` := S)", "STRUCT<`X` INTEGER, `y` STRING>"),
        ("A[-1]", "BIGINT"),
        ("M['x']", "INTEGER"),
        ("R->Y", "STRING"),
        ("CASE WHEN T THEN NULL ELSE I END", "INTEGER"),
        ("CAST(NULL AS TIME)", "TIME"),
        ("IFNULL(I, 1.5)", "DECIMAL(11, 1)"),
        ("COALESCE(N, B)", "DECIMAL(21, 2)"),
        ("COALESCE(I, B)", "BIGINT"),
        ("COALESCE(B, D)", "DOUBLE"),
        ("AT AT TIME ZONE 'Asia/Tokyo'", "TIMESTAMP"),
        ("DATE '2020-02-10'", "DATE"),
    ],
)
def test_the_type_of_an_expression_follows_from_its_parts(text: str, of: str) -> None:
    assert type_of(text) == of


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ARRAY[]", "Array constructor cannot be empty."),
        ("ARRAY[NULL]", "Cannot construct an array with all NULL elements"),
        ("CAST(I AS DECIMAL(39, 2))", "DECIMAL precision must be <= 38: DECIMAL(39,2)"),
        (
            "DATEADD(DAYS, 'x', DAY)",
            "Function 'dateadd' does not accept parameters (INTERVALUNIT, STRING, DATE).",
        ),
        ("I AT TIME ZONE 'UTC'", "Function 'convert_tz' does not accept parameters"),
        ("ARRAY[1, 'one']", 'Invalid Select: invalid input syntax for type INTEGER: "one".'),
        ("ARRAY[T, 'maybe']", 'Invalid Select: invalid input syntax for type BOOLEAN: "maybe".'),
        ("STRUCT(X := 1, x := 2)", "Duplicate field names found in STRUCT"),
        ("I IN (1, S)", "Invalid Select: operator does not exist: INTEGER = STRING (S)\nHint: "),
        ("CAST(S AS ARRAY<INT>)", "Invalid Select: Cast of STRING to ARRAY<INTEGER> is not"),
        ("CAST(T AS INT)", "Invalid Select: Cast of BOOLEAN to INTEGER is not supported"),
        ("CAST(R AS STRUCT<X DATE>)", "Invalid Select: Cast of STRUCT"),
        ("A < A", "Cannot compare A (ARRAY<BIGINT>) to A (ARRAY<BIGINT>) with LESS_THAN."),
        ("T < T", "Cannot compare T (BOOLEAN) to T (BOOLEAN) with LESS_THAN."),
        ("I = S", "Cannot compare I (INTEGER) to S (STRING) with EQUAL."),
        ("I = NULL", "Comparison with NULL not supported: INTEGER = NULL"),
        (
            "I BETWEEN 1 AND S",
            "Invalid expression: Cannot compare I (INTEGER) to S (STRING) with LESS_THAN_OR_EQUAL.",
        ),
        (
            "I = NULL",
            "Comparison with NULL not supported: INTEGER = NULL\nUse 'IS NULL' or 'IS NOT NULL'",
        ),
        (
            "I + NULL",
            "Error processing expression: (I + null). Arithmetic on types INTEGER and null are",
        ),
        (
            "NULL * N",
            "Error processing expression: (null * N). Arithmetic on types null and DECIMAL(4, 2) are",
        ),
        (
            "I LIKE 'x'",
            "The column type for Like condition must be VARCHAR. The column type is INTEGER",
        ),
        (
            "CASE WHEN T THEN 1 WHEN T THEN S END",
            "Invalid Case expression. Type for all 'THEN' clauses should be the same.\nTHEN expression 'WHEN T THEN S' has",
        ),
        ("T + 1", "Error processing expression: (T + 1). Unsupported arithmetic types."),
        ("1e400", "Number overflows DOUBLE: 1e400"),
        ("CASE WHEN I THEN 1 END", "WHEN operand type should be boolean."),
        ("CASE WHEN T THEN 1 ELSE S END", "Invalid Case expression. Type for the default clause"),
        ("CASE WHEN T THEN 1 WHEN T THEN S END", "Invalid Case expression. Type for all 'THEN'"),
        ("CASE WHEN T THEN NULL END", "Invalid Case expression. All case branches have NULL"),
        ("DAY > 'soon'", "Failed to parse date 'soon'."),
        ("ROWTIME > 'soon'", "Failed to parse timestamp 'soon'."),
        ("9223372036854775808", "Failed to prepare statement: line 1:28: Invalid numeric literal"),
        (
            "-9223372036854775809",
            "Failed to prepare statement: line 1:28: Invalid numeric literal: -9223372036854775809",
        ),
        ("MAP(NULL := 1)", "Cannot construct a map with all NULL keys"),
        ("I->X", "Expected STRUCT type, got: INTEGER"),
        ("NOSUCH(I)", "Can't find any functions with the name 'NOSUCH'"),
        ("LEN(I, I)", "Function 'len' does not accept parameters (INTEGER, INTEGER)."),
    ],
)
def test_type_errors_have_the_text_of_ksqldb(text: str, message: str) -> None:
    assert error_of(text).startswith(message)


def test_errors_of_in_name_the_clause() -> None:
    reported = error_of("D IN (1, 'one')", "WHERE")

    assert reported == 'Invalid Predicate: invalid input syntax for type DOUBLE: "one".'


def test_in_compares_values_of_one_type() -> None:
    call = bind("T IN ('YE', 'n', NULL)").expression

    assert isinstance(call, Call)
    assert [str(arg) for arg in call.args[1:3]] == ["TRUE", "FALSE"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("DAY >= '2020-02'", dt.date(2020, 2, 1)),
        ("AT < '2020-02-10T08:31:44.001+0100'", dt.datetime(2020, 2, 10, 7, 31, 44, 1000, dt.UTC)),
        ("CLOCK = '10:15'", 36_900_000),
        ("ROWTIME > '2018'", 1_514_764_800_000),
        ("'2018-01-01T00:00:00+0100' < ROWTIME", 1_514_761_200_000),
        ("N = 1.50", DecimalValue("1.50")),
    ],
)
def test_a_string_compared_with_a_time_is_parsed_as_a_time(text: str, value: object) -> None:
    call = bind(text).expression

    assert isinstance(call, Call)
    assert value in [arg.value for arg in call.args if isinstance(arg, Literal)]


def test_a_column_of_texts_is_read_record_by_record() -> None:
    assert "CAST" in str(bind("DAY = S").expression)


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("1970", 0),
        ("2020-02-10T08", 1_581_321_600_000),
        ("2020-02-10T09+01", 1_581_321_600_000),
        ("1970-01-01T00:00:01", 1000),
        ("1970-01-01T00Z", 0),
        ("1970-01-01T01+01", 0),
    ],
)
def test_omitted_parts_of_a_timestamp_have_their_minimum(text: str, millis: int) -> None:
    assert millis_of(text) == millis


def test_a_parameter_of_a_lambda_hides_a_column() -> None:
    parameter = Variable("I", STRING)

    assert binder().knowing({"I": parameter}).bind(exp.column("I")) == Bound(parameter, STRING)
