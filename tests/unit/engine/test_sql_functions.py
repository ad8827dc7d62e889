"""What SQL's functions of texts, bytes, patterns, URLs and JSON give, read and bound as in a statement."""

import pytest
from pyspark.sql import SparkSession

from duolog.engine.sql_functions.registry import lower_sql_function
from duolog.plan.types import (
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Column,
    Map,
    Struct,
    Type,
)
from unit.engine.sql_values import Values, compiled, lowered, values
from unit.kernel.driver import kernel_package

pytestmark = pytest.mark.spark

TEXTS: Values = {
    "CHR(75)": "K",
    "CHR(128512)": "😀",
    "CHR(-1)": None,
    r"CHR('\u0041')": "A",
    r"CHR('\ud83d\ude00')": "😀",
    "CHR('41')": None,
    "CONCAT('a', NULL, 'b')": "ab",
    "CONCAT(NULL, CHR(-1))": "",
    "CONCAT(TO_BYTES('61', 'hex'), NULL, TO_BYTES('62', 'hex'))": b"ab",
    "CONCAT_WS(', ', 'a', NULL, 'b')": "a, b",
    "CONCAT_WS(CHR(-1), 'a', 'b')": None,
    "CONCAT_WS(TO_BYTES('-', 'utf8'), TO_BYTES('a', 'utf8'), NULL, TO_BYTES('b', 'utf8'))": b"a-b",
    "ELT(2, 'a', 'b')": "b",
    "ELT(3, 'a', 'b')": None,
    "ELT(0, 'a', 'b')": None,
    "ELT(NULL, 'a', 'b')": None,
    "FIELD('b', 'a', NULL, 'b')": 3,
    "FIELD('c', 'a', 'b')": 0,
    "FIELD(CHR(-1), 'a', NULL)": 0,
    "INITCAP('the lAZY  dog')": "The Lazy  Dog",
    "INSTR('corporate floor', 'or')": 2,
    "INSTR('corporate floor', 'or', 3)": 5,
    "INSTR('corporate floor', 'or', -3)": 5,
    "INSTR('corporate floor', 'or', 3, 2)": 14,
    "INSTR('corporate floor', 'or', -3, 2)": 2,
    "INSTR('corporate floor', 'or', 3, 3)": 0,
    "INSTR('aaa', 'aa', 1, 2)": 2,
    "INSTR('abc', 'x', -100)": 0,
    "INSTR(CHR(-1), 'a')": 0,
    "INSTR('abc', 'a', NULL)": None,
    "LCASE('ÄB')": "äb",
    "UCASE('äb')": "ÄB",
    "LEN('a😀')": 3,
    "LEN('')": 0,
    "LEN(CHR(-1))": None,
    "LEN(TO_BYTES('😀', 'utf8'))": 4,
    "LPAD('foo', 7, 'Bar')": "BarBfoo",
    "LPAD('foo', 2, 'Bar')": "fo",
    "LPAD('foo', 0, 'Bar')": "",
    "LPAD('foo', -1, 'Bar')": None,
    "LPAD('foo', 3, '')": None,
    "RPAD('foo', 7, 'Bar')": "fooBarB",
    "LPAD(TO_BYTES('foo', 'utf8'), 5, TO_BYTES('xyz', 'utf8'))": b"xyfoo",
    "RPAD(TO_BYTES('foo', 'utf8'), 5, TO_BYTES('xyz', 'utf8'))": b"fooxy",
    "RPAD(TO_BYTES('foo', 'utf8'), 2, TO_BYTES('xyz', 'utf8'))": b"fo",
    "MD5('a')": "0cc175b9c0f1b6a831c399e269772661",
    "REPLACE('banana', 'an', 'AN')": "bANANa",
    "REPLACE('ab', '', '-')": "-a-b-",
    "SPLIT('a$$b', '$$')": ["a", "b"],
    "SPLIT('$$', '$$')": ["", ""],
    "SPLIT('a😀', '')": ["a", "😀"],
    "SPLIT('', '')": [""],
    "SPLIT('a', CHR(-1))": None,
    "SPLIT(TO_BYTES('a--b-', 'utf8'), TO_BYTES('--', 'utf8'))": [b"a", b"b-"],
    "SPLIT(TO_BYTES('abc', 'utf8'), TO_BYTES('', 'utf8'))": [b"a", b"b", b"c"],
    "SPLIT_TO_MAP('a:=1/b/a:=2/c:=', '/', ':=')": {"a": "2", "c": ""},
    "SPLIT_TO_MAP('a=1', '', '=')": None,
    "SUBSTRING('stream', 1, 4)": "stre",
    "SUBSTRING('stream', 0, 2)": "st",
    "SUBSTRING('stream', -3)": "eam",
    "SUBSTRING('stream', -9, 2)": "st",
    "SUBSTRING('stream', 7)": "",
    "SUBSTRING('stream', 2, -1)": "",
    "SUBSTRING('stream', 2, NULL)": None,
    "SUBSTRING(TO_BYTES('stream', 'utf8'), -3, 2)": b"ea",
    "TRIM('\t a b \t')": "a b",
    "LEN(UUID())": 36,
    "UUID(TO_BYTES('00112233445566778899aabbccddeeff', 'hex'))": "00112233-4455-6677-8899-aabbccddeeff",
    "UUID(TO_BYTES('00', 'hex'))": None,
}  # fmt: skip
MASKS: Values = {
    "MASK('My Test $123')": "Xx-Xxxx--nnn",
    "MASK('My Test $123', '*', NULL, '1', NULL)": "*y *est $111",
    "MASK(CHR(-1))": None,
    "MASK_LEFT('My Test $123', 4)": "Xx-Xest $123",
    "MASK_RIGHT('My Test $123', 4)": "My Test -nnn",
    "MASK_KEEP_LEFT('My Test $123', 4)": "My Txxx--nnn",
    "MASK_KEEP_RIGHT('My Test $123', 4)": "Xx-Xxxx-$123",
    "MASK_KEEP_RIGHT('My Test $123', 40, '#', '#', '#', '#')": "My Test $123",
    "MASK_LEFT('a', NULL)": None,
}
CODES: Values = {
    "ENCODE('c3a9', 'hex', 'utf8')": "é",
    "ENCODE('0x1', 'hex', 'base64')": "AQ==",
    "ENCODE('X''4a''', 'hex', 'ascii')": "J",
    "ENCODE('é', 'utf8', 'hex')": "c3a9",
    "ENCODE('é', 'ascii', 'utf8')": "?",
    "ENCODE('é', 'utf8', 'ascii')": "\ufffd\ufffd",
    "ENCODE('4a', 'HEX', 'Utf8')": "J",
    "TO_BYTES('4aFf', 'hex')": b"\x4a\xff",
    "FROM_BYTES(TO_BYTES('4aff', 'hex'), 'hex')": "4AFF",
    "FROM_BYTES(TO_BYTES('IQ==', 'base64'), 'ascii')": "!",
    "INT_FROM_BYTES(TO_BYTES('00000102', 'hex'))": 258,
    "INT_FROM_BYTES(TO_BYTES('02010000', 'hex'), 'LITTLE_ENDIAN')": 258,
    "BIGINT_FROM_BYTES(TO_BYTES('000000012A05F200', 'hex'), 'BIG_ENDIAN')": 5_000_000_000,
    "DOUBLE_FROM_BYTES(TO_BYTES('3FF8000000000000', 'hex'))": 1.5,
}
PATTERNS: Values = {
    "REGEXP_EXTRACT('(.*) (.*)', 'hello there', 2)": "there",
    "REGEXP_EXTRACT('l+', 'hello')": "ll",
    "REGEXP_EXTRACT('x', 'hello')": None,
    "REGEXP_EXTRACT('(x)|l', 'hello', 1)": None,
    "REGEXP_EXTRACT('l', 'hello', 1)": None,
    "REGEXP_EXTRACT_ALL('[a-z]', 'a1b2')": ["a", "b"],
    "REGEXP_EXTRACT_ALL('([a-z])(\\d)', 'a1b2', 2)": ["1", "2"],
    "REGEXP_EXTRACT_ALL('x', 'a1b2')": [],
    "REGEXP_REPLACE('a1b2', '([a-z])(\\d)', '$2$1')": "1a2b",
    "REGEXP_SPLIT_TO_ARRAY('xaabaax', 'a+')": ["x", "b", "x"],
    "REGEXP_SPLIT_TO_ARRAY('1a22', '\\d')": ["", "a", "", ""],
    "REGEXP_SPLIT_TO_ARRAY('ab', '')": ["a", "b"],
    "REGEXP_SPLIT_TO_ARRAY('ab', NULL)": None,
}
URLS: Values = {
    "URL_ENCODE_PARAM('a b&ü')": "a+b%26%C3%BC",
    "URL_DECODE_PARAM('a+b%26%20')": "a b& ",
    "URL_EXTRACT_FRAGMENT('http://a.b/c#d%20e')": "d e",
    "URL_EXTRACT_FRAGMENT('http://a.b/c')": None,
    "URL_EXTRACT_HOST('http://me@a.b:80/c')": "a.b",
    "URL_EXTRACT_HOST('a.b')": None,
    "URL_EXTRACT_PATH('http://a.b?c')": "",
    "URL_EXTRACT_PORT('http://a.b:80/c')": 80,
    "URL_EXTRACT_PORT('http://a.b/c')": None,
    "URL_EXTRACT_PROTOCOL('https://a.b')": "https",
    "URL_EXTRACT_QUERY('http://a.b/c?d=e%20f#g')": "d=e f",
    "URL_EXTRACT_PARAMETER('http://a.b?a%20b=c%26d&e', 'a b')": "c&d",
    "URL_EXTRACT_PARAMETER('http://a.b?a=1&e', 'e')": None,
    "URL_EXTRACT_PARAMETER('http://a.b', 'e')": None,
}
JSON: Values = {
    """EXTRACTJSONFIELD('{"a": {"b": [1, 2.50]}}', '$.a.b[1]')""": "2.50",
    """EXTRACTJSONFIELD('{"a": {"b": [1, 2.50]}}', '$.a')""": '{"b":[1,2.50]}',
    """EXTRACTJSONFIELD('{"a": "x y"}', '$.a')""": "x y",
    """EXTRACTJSONFIELD('{"a.b": true}', '$["a.b"]')""": "true",
    """EXTRACTJSONFIELD('{"a": 1}} and more', '$.a')""": "1",
    """EXTRACTJSONFIELD('{"a": 1}', '$.b.c')""": None,
    """EXTRACTJSONFIELD('[1, 2]', '$[-1]')""": None,
    """EXTRACTJSONFIELD('[1, 2]', '$')""": "[1,2]",
    "EXTRACTJSONFIELD('', '$.a')": None,
    """IS_JSON_STRING('{"a": [1]}')""": True,
    "IS_JSON_STRING('abc')": False,
    "IS_JSON_STRING('')": False,
    "IS_JSON_STRING(NULL)": False,
    "JSON_ARRAY_LENGTH('[1, [2, 3]]')": 2,
    "JSON_ARRAY_LENGTH('{}')": None,
    "JSON_ARRAY_CONTAINS('[1, 2]', 2)": True,
    "JSON_ARRAY_CONTAINS('[1, 2.0]', 2)": False,
    "JSON_ARRAY_CONTAINS('[1, 2.0]', 2.0)": True,
    "JSON_ARRAY_CONTAINS('[[1]]', 1)": False,
    """JSON_ARRAY_CONTAINS('["a", true]', 'a')""": True,
    """JSON_ARRAY_CONTAINS('["a", true]', true)""": True,
    "JSON_ARRAY_CONTAINS('[1, null]', NULL)": True,
    "JSON_ARRAY_CONTAINS('{}', 1)": False,
    """JSON_CONCAT('{"a": 1, "b": {"c": 2}}', '{"b": {"d": 3.10}}')""": '{"a":1,"b":{"d":3.10}}',
    """JSON_CONCAT('[1]', '{"a": 1}', '"x"', '[[2]]')""": '[1,{"a":1},"x",[2]]',
    "JSON_CONCAT('[1]', NULL)": None,
    "JSON_CONCAT('[1]', 'abc')": None,
    """JSON_ITEMS('[{"a": 1}, "b", null]')""": ['{"a":1}', '"b"', "null"],
    "JSON_ITEMS('[]')": [],
    """JSON_KEYS('{"b": 1, "a": {"c": 2}}')""": ["b", "a"],
    "JSON_KEYS('[1]')": None,
    "JSON_KEYS('abc')": None,
    """JSON_RECORDS('{"b": "x", "a": {"c": 2}}')""": {"b": '"x"', "a": '{"c":2}'},
    "JSON_RECORDS('')": None,
    "TO_JSON_STRING(NULL)": "null",
    """TO_JSON_STRING('say "a"')""": '"say \\"a\\""',
    "TO_JSON_STRING(1.50)": "1.50",
    "TO_JSON_STRING(1E10)": "1.0E10",
    "TO_JSON_STRING(TO_BYTES('!', 'utf8'))": '"IQ=="',
    """TO_JSON_STRING(SPLIT('a,b', ','))""": '["a","b"]',
    "TO_JSON_STRING(SPLIT_TO_MAP('a:1', ',', ':'))": '{"a":"1"}',
}
FAIL: Values = dict.fromkeys(
    [
        "ENCODE('a', 'utf8', 'rot13')",
        "TO_BYTES('xy', 'hex')",
        "MASK_LEFT('a', -1)",
        "MASK('a', 'too long', 'x', 'n', '-')",
        "INT_FROM_BYTES(TO_BYTES('00', 'hex'))",
        "INT_FROM_BYTES(TO_BYTES('00000000', 'hex'), 'MIDDLE')",
        "REGEXP_EXTRACT('(', 'a')",
        "REGEXP_EXTRACT('(a|b)*', RPAD('', 100000, 'ab'))",
        "URL_DECODE_PARAM('%zz')",
        "URL_EXTRACT_HOST('http://a b')",
        "EXTRACTJSONFIELD('{', '$.a')",
        "EXTRACTJSONFIELD('{}', 'a')",
        "EXTRACTJSONFIELD('{}', '$.a[')",
        "JSON_ITEMS('{}')",
        "LPAD('a', 2000000000, 'b')",
    ]
)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    kernel_package(spark)
    return spark


@pytest.mark.parametrize("family", [TEXTS, MASKS, CODES, PATTERNS, URLS, JSON, FAIL])
def test_a_function_gives_its_value_interpreted_and_compiled(
    session: SparkSession, family: Values
) -> None:
    interpreted = values(session, list(family))
    with compiled(session):
        in_java = values(session, list(family))

    assert interpreted == family
    assert in_java == family


def test_each_call_makes_another_uuid(session: SparkSession) -> None:
    rows = session.range(2).selectExpr(f"{lowered('UUID()')} a", f"{lowered('UUID()')} b").collect()

    assert len({value for row in rows for value in row}) == 4
    assert all(value[14] == "4" for row in rows for value in row)


@pytest.mark.parametrize(
    ("kind", "value", "json"),
    [
        (TIME, "47107250", '"13:05:07.250"'),
        (INT, "47107250", "47107250"),
        (TIME, "CAST(NULL AS INT)", "null"),
        (DATE, "DATE '1972-09-27'", '"1972-09-27"'),
        (TIMESTAMP, "TIMESTAMP '1969-12-31 23:59:59.999'", '"1969-12-31T23:59:59.999"'),
        (
            Struct((Column("it's", Array(TIME)), Column("n", DOUBLE))),
            "named_struct('it\\'s', array(0, NULL), 'n', CAST(NULL AS DOUBLE))",
            '{"it\'s":["00:00",null],"n":null}',
        ),
        (Map(STRING, TIME), "map('a', 60000)", '{"a":"00:01"}'),
    ],
)
def test_json_of_a_value_tells_times_from_numbers(
    session: SparkSession, kind: Type, value: str, json: str
) -> None:
    sql = lower_sql_function("TO_JSON_STRING", [value], [kind], STRING)

    assert session.range(1).selectExpr(sql).collect()[0][0] == json


def test_functions_run_in_a_lambda(session: SparkSession) -> None:
    sql = "transform(array('a', NULL), x -> {})".format(
        lower_sql_function("LPAD", ["x", "3", "'-'"], [STRING] * 3, STRING)
    )

    assert session.range(1).selectExpr(sql).collect()[0][0] == ["--a", None]
