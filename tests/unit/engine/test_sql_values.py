"""What SQL's functions of numbers, arrays, maps and times give, read and bound as in a statement."""

import datetime as dt
import math
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

from unit.engine.sql_values import Values, compiled, lowered, values
from unit.kernel.driver import kernel_package

pytestmark = pytest.mark.spark

NUMBERS: Values = {
    "ABS(-3)": 3,
    "ABS(-2.50)": Decimal("2.50"),
    "CEIL(1.2)": Decimal("2.0"),
    "CEIL(1.2E0)": 2.0,
    "FLOOR(-1.2E0)": -2.0,
    "FLOOR(7)": 7,
    "ROUND(2.5E0)": 3,
    "ROUND(-2.5E0)": -2,
    "ROUND(-2.51E0)": -3,
    "ROUND(1.005E0, 2)": 1.01,
    "ROUND(-1.25E0, 1)": -1.2,
    "ROUND(1234.5E0, -2)": 1200.0,
    "ROUND(12.56)": Decimal(13),
    "ROUND(-12.55, 1)": Decimal("-12.50"),
    "ROUND(12.56, -1)": Decimal("10.00"),
    "ROUND(7)": 7,
    "TRUNC(-2.9E0)": -2,
    "TRUNC(2.99E0, 1)": 2.9,
    "TRUNC(-12.59, 1)": Decimal("-12.50"),
    "TRUNC(12.59)": Decimal(12),
    "SIGN(-0.5E0)": -1,
    "SIGN(0)": 0,
    "LN(0)": -math.inf,
    "LOG(1E0)": 0.0,
    "LOG(2, 8)": math.log(8) / math.log(2),
    "LOG(1, 8)": math.inf,
    "SQRT(16)": 4.0,
    "POWER(2, 10)": 1024.0,
    "COT(0)": math.inf,
    "DEGREES(PI())": 180.0,
    "RANDOM() < 1": True,
    "GREATEST(1, NULL, 3, 2)": 3,
    "GREATEST('b', 'c', 'a')": "c",
    "GREATEST(1.5, 10.25)": Decimal("10.25"),
    "LEAST(1, 0.5E0)": 0.5,
    "LEAST(FROM_DAYS(3), '1970-01-02')": dt.date(1970, 1, 2),
    "LEAST(5)": 5,
    "GEO_DISTANCE(0, 0, 0, 90)": math.pi / 2 * 6371,
    "GEO_DISTANCE(0, 0, 0, 90, 'Miles')": math.pi / 2 * 3959,
    "GEO_DISTANCE(0, 0, 0, 90, 'leagues')": None,
    "GEO_DISTANCE(0, 180.5, 0, 0)": None,
    "GEO_DISTANCE(-91, 0, 0, 0)": None,
}
ARRAYS: Values = {
    "ARRAY_CONCAT(ARRAY[1, 2], ARRAY[2, NULL])": [1, 2, 2, None],
    "ARRAY_CONCAT(ARRAY[1, 2], NULL)": [1, 2],
    "ARRAY_CONTAINS(ARRAY['a', NULL], 'a')": True,
    "ARRAY_CONTAINS(ARRAY['a', NULL], NULL)": True,
    "ARRAY_CONTAINS(ARRAY[MAP('a' := 1)], MAP('a' := 1))": True,
    "ARRAY_DISTINCT(ARRAY['b', NULL, 'a', 'b', NULL])": ["b", None, "a"],
    "ARRAY_DISTINCT(ARRAY[MAP('a' := 1), MAP('a' := 2), MAP('a' := 1)])": [{"a": 1}, {"a": 2}],
    "ARRAY_EXCEPT(ARRAY[3, 1, 3, 2], ARRAY[1, 4])": [3, 2],
    "ARRAY_EXCEPT(ARRAY[MAP('a' := 1), MAP('a' := 2)], ARRAY[MAP('a' := 1)])": [{"a": 2}],
    "ARRAY_INTERSECT(ARRAY[3, 1, 3, 2], ARRAY[2, 3])": [3, 2],
    "ARRAY_JOIN(ARRAY[1, NULL, 3])": "1,null,3",
    "ARRAY_JOIN(ARRAY[1.5, 2.25], '; ')": "1.50; 2.25",
    "ARRAY_JOIN(ARRAY[TRUE, FALSE], NULL)": "truefalse",
    "ARRAY_LENGTH(ARRAY[1, NULL])": 2,
    "ARRAY_MAX(ARRAY[1, NULL, 3])": 3,
    "ARRAY_MIN(ARRAY['b', NULL, 'a'])": "a",
    "ARRAY_REMOVE(ARRAY[1, NULL, 2, 1], 1)": [None, 2],
    "ARRAY_REMOVE(ARRAY[1, NULL, 2], NULL)": [1, 2],
    "ARRAY_SORT(ARRAY[2, NULL, 1])": [1, 2, None],
    "ARRAY_SORT(ARRAY[2, NULL, 1, 3], 'Desc')": [3, 2, 1, None],
    "ARRAY_SORT(ARRAY[2, 1], 'sideways')": None,
    "ARRAY_UNION(ARRAY[3, 1, 3], ARRAY[2, 1])": [3, 1, 2],
    "GENERATE_SERIES(3, 1)": [3, 2, 1],
    "GENERATE_SERIES(1, 8, 3)": [1, 4, 7],
    "GENERATE_SERIES(1, 8, -3)": None,
    "GENERATE_SERIES(1, 8, 0)": None,
    "GENERATE_SERIES(5000000000, 5000000002, 2)": [5000000000, 5000000002],
    "SLICE(ARRAY['a', 'b', 'c'], 2, 3)": ["b", "c"],
    "SLICE(ARRAY['a', 'b', 'c'], 3, 2)": [],
    "SLICE(ARRAY['a', 'b', 'c'], 2, 4)": None,
    "SLICE(ARRAY['a', 'b', 'c'], 0, 2)": None,
    "SLICE(ARRAY['a', 'b', 'c'], NULL, 2)": ["a", "b"],
}
MAPS: Values = {
    "AS_MAP(ARRAY['a', 'b', 'a'], ARRAY[1, 2, 3, 4])": {"a": 3, "b": 2},
    "AS_MAP(ARRAY['a', NULL], ARRAY[NULL, 2])": {"a": None, "null": 2},
    "ARRAY_SORT(MAP_KEYS(MAP('b' := 1, 'a' := 2)))": ["a", "b"],
    "ARRAY_SORT(MAP_VALUES(MAP('b' := 1, 'a' := 2)))": [1, 2],
    "MAP_UNION(MAP('a' := 1, 'b' := 2), MAP('b' := 3))": {"a": 1, "b": 3},
    "MAP_UNION(MAP('a' := 1), NULL)": {"a": 1},
    "TRANSFORM(ENTRIES(MAP('b' := 1, 'a' := 2), TRUE), e => e->K)": ["a", "b"],
    "TRANSFORM(ENTRIES(MAP('b' := 1, 'a' := 2), TRUE), e => e->V)": [2, 1],
    "FILTER(ARRAY[1, NULL, 8], x => x > 5)": [8],
    "FILTER(MAP('a' := 1, 'b' := 8), (k, v) => v > 5 AND k = 'b')": {"b": 8},
    "FILTER(MAP('a' := 1, 'b' := NULL), (k, v) => k = 'b')": None,
    "FILTER(MAP('a' := 1, 'b' := CAST(NULL AS INT)), (k, v) => v + 1 > 0)": None,
    "TRANSFORM(ARRAY[1, NULL, 8], x => ABS(x))": [1, None, 8],
    "TRANSFORM(ARRAY[1, NULL, 8], x => x + 1)": None,
    "TRANSFORM(MAP('a' := 1, 'b' := 8), (k, v) => UCASE(k), (k, v) => v * 2)": {"A": 2, "B": 16},
    "TRANSFORM(MAP('a' := 1, 'b' := 8), (k, v) => 'c', (k, v) => v)": None,
    "REDUCE(ARRAY[1, 2, 3], 10, (s, x) => s + x)": 16,
    "REDUCE(ARRAY[1.25, 2.50], 10.00, (s, x) => s + x)": Decimal("13.75"),
    "REDUCE(MAP('a' := 1, 'bc' := 8), 0, (s, k, v) => s + v * LEN(k))": 17,
    "REDUCE(ARRAY[ARRAY[1, 2], ARRAY[3]], 0, (s, a) => s + REDUCE(a, 0, (t, x) => t + x))": 6,
    "COALESCE(NULL, ARRAY[1], ARRAY[2])": [1],
    "IFNULL(PARSE_DATE('x', 'yyyy'), FROM_DAYS(1))": dt.date(1970, 1, 2),
    "NULLIF('a', 'b')": "a",
    "NULLIF('a', 'a')": None,
    "AS_VALUE(7)": 7,
}
TIMES: Values = {
    "DATEADD(DAYS, -1, FROM_DAYS(0))": dt.date(1969, 12, 31),
    "DATEADD(HOURS, 25, FROM_DAYS(1))": dt.date(1970, 1, 3),
    "DATESUB(DAY, -5, FROM_DAYS(0))": dt.date(1970, 1, 6),
    "TIMEADD(SECONDS, 2, PARSE_TIME('23:59:59', 'HH:mm:ss'))": 1000,
    "TIMESUB(MINUTES, 1, PARSE_TIME('00:00', 'HH:mm'))": 86_340_000,
    "UNIX_TIMESTAMP(TIMESTAMPADD(MILLISECONDS, 5, FROM_UNIXTIME(-3)))": 2,
    "UNIX_TIMESTAMP(TIMESTAMPSUB(DAYS, 1, FROM_UNIXTIME(0)))": -86_400_000,
    "DATEADD(DAYS, NULL, FROM_DAYS(0))": None,
    "FORMAT_DATE(FROM_DAYS(18993), 'dd-MMM-yyyy')": "01-Jan-2022",
    "FORMAT_DATE(FROM_DAYS(0), 'no pattern')": None,
    "FORMAT_TIME(PARSE_TIME('1:05 pm', 'h:mm a'), 'HH:mm:ss.SSS')": "13:05:00.000",
    "FORMAT_TIMESTAMP(FROM_UNIXTIME(1500), 'yyyy-MM-dd HH:mm:ss.SSS')": "1970-01-01 00:00:01.500",
    "FORMAT_TIMESTAMP(FROM_UNIXTIME(0), 'HH:mm zzz', 'Asia/Kolkata')": "05:30 IST",
    "FORMAT_TIMESTAMP(FROM_UNIXTIME(0), 'HH:mm', 'Nowhere')": None,
    "PARSE_DATE('JAN-2022', 'MMM-yyyy')": dt.date(2022, 1, 1),
    "PARSE_DATE('2022-060', 'yyyy-DDD')": dt.date(2022, 3, 1),
    "PARSE_DATE('2022-13-01', 'yyyy-MM-dd')": None,
    "UNIX_TIMESTAMP(PARSE_TIMESTAMP('1970-01-01 01', 'yyyy-MM-dd HH', 'Europe/Paris'))": 0,
    "STRINGTOTIMESTAMP('1970-01-01T00:00:00.5+0100', 'yyyy-MM-dd''T''HH:mm:ss.SX')": -3_599_500,
    "STRINGTOTIMESTAMP('01:30', 'HH:mm')": 5_400_000,
    "STRINGTODATE('1970-02-01', 'yyyy-MM-dd')": 31,
    "STRINGTODATE('1970-02', 'yyyy-MM')": None,
    "DATETOSTRING(-1, 'yyyy-MM-dd')": "1969-12-31",
    "TIMESTAMPTOSTRING(0, 'HH:mm', 'America/New_York')": "19:00",
    "UNIX_DATE(FROM_DAYS(12))": 12,
    "UNIX_DATE() > 20000": True,
    "UNIX_TIMESTAMP() > 1700000000000": True,
    "UNIX_TIMESTAMP(CONVERT_TZ(FROM_UNIXTIME(0), 'UTC', 'Asia/Kolkata'))": 19_800_000,
}


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    kernel_package(spark)
    return spark


@pytest.mark.parametrize("family", [NUMBERS, ARRAYS, MAPS, TIMES])
def test_a_function_gives_its_value_interpreted_and_compiled(
    session: SparkSession, family: Values
) -> None:
    interpreted = values(session, list(family))
    with compiled(session):
        in_java = values(session, list(family))

    assert interpreted == pytest.approx(family) if family is NUMBERS else interpreted == family
    assert in_java == interpreted


def test_each_call_draws_another_number(session: SparkSession) -> None:
    rows = session.range(2).selectExpr(f"{lowered('RANDOM()')} a", f"{lowered('RANDOM()')} b")

    assert len({value for row in rows.collect() for value in row}) == 4
