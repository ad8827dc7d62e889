"""Tests in SQL: files of statements with input rows, and ASSERTs of the output.

    --@test: late flights are counted
    CREATE STREAM flights (id INT KEY, delay INT) WITH (kafka_topic='flights', value_format='JSON');
    CREATE TABLE late AS SELECT id, COUNT(*) AS n FROM flights WHERE delay > 10 GROUP BY id;
    INSERT INTO flights VALUES (1, 25);
    ASSERT VALUES late (id, n) VALUES (1, 1);

`duolog sql test FILE` runs them; start with `running`.

Source: the format of ksqlDB's own tests in SQL.
"""

from duolog.testing.sql.files import SqlTest, read_tests
from duolog.testing.sql.running import TestOutcome, run_test

__all__ = ["SqlTest", "TestOutcome", "read_tests", "run_test"]
