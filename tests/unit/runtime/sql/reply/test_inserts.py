import pytest

from duolog.ksql.session import SqlSession
from duolog.runtime.sql.reply.inserts import Inserted, constant_record

DECLARED = "CREATE STREAM s (k STRING KEY, a BIGINT, d DOUBLE, e DECIMAL(4,2), t TIMESTAMP, f ARRAY<INT>) WITH (kafka_topic='s', partitions=2, value_format='{}');"


def record(values: str, form: str = "json") -> Inserted | None:
    session = SqlSession()
    *_, done = session.run(DECLARED.format(form) + f"INSERT INTO s {values};")
    (row,) = done.inserted
    return constant_record(row)


@pytest.mark.parametrize(
    ("values", "key", "value"),
    [
        ("(k, a) VALUES ('x', 1)", b"x", b'{"A":1,"D":null,"E":null,"T":null,"F":null}'),
        ("(d, e) VALUES (2.5, 3.1)", None, b'{"A":null,"D":2.5,"E":3.10,"T":null,"F":null}'),
        (
            "(d, a) VALUES (7, 3000000000)",
            None,
            b'{"A":3000000000,"D":7.0,"E":null,"T":null,"F":null}',
        ),
    ],
)
def test_constants_are_serialized_without_a_jvm(
    values: str, key: bytes | None, value: bytes
) -> None:
    assert record(values) == Inserted(key, value, None)


def test_the_time_of_a_row_is_that_of_its_record() -> None:
    inserted = record("(ROWTIME, a) VALUES (1234, 1)")

    assert inserted is not None
    assert inserted.timestamp_ms == 1234


@pytest.mark.parametrize(
    "given", ["a) VALUES (LEN('x'))", "f) VALUES (ARRAY[1])", "t) VALUES ('2020-01-01T00:00:00')"]
)
def test_expressions_are_left_to_the_kernel(given: str) -> None:
    assert record(f"({given}") is None
