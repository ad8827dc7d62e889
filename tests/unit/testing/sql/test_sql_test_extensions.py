"""SQL tests of extensions that ksqlDB does not have, on the kernel of the test run."""

from typing import Final

import pytest
from pyspark.sql import SparkSession

from duolog.testing.sql import read_tests, run_test

FILE: Final = """\
--@test: a deleted row leaves the downstream tables
CREATE TABLE users (name STRING PRIMARY KEY, age INT) WITH (kafka_topic='users', value_format='JSON');
CREATE TABLE ages AS SELECT age, COUNT(*) AS n FROM users GROUP BY age;
CREATE TABLE old AS SELECT * FROM users WHERE age > 3;
INSERT INTO users VALUES ('ann', 5);
INSERT INTO users VALUES ('bob', 5);
INSERT INTO users VALUES ('eve', 5);
ASSERT VALUES ages VALUES (5, 1);
ASSERT VALUES ages VALUES (5, 2);
ASSERT VALUES ages VALUES (5, 3);
DELETE FROM users WHERE name IN ('bob', LCASE('ANN'));
ASSERT VALUES ages VALUES (5, 2);
ASSERT VALUES ages VALUES (5, 1);
INSERT INTO users (name, ROWTIME) NULL VALUES KEY ('eve', 77);
ASSERT VALUES ages VALUES (5, 0);
ASSERT VALUES old VALUES ('ann', 5);
ASSERT VALUES old VALUES ('bob', 5);
ASSERT VALUES old VALUES ('eve', 5);
ASSERT NULL VALUES old (name) KEY ('bob');
ASSERT NULL VALUES old (name) KEY ('ann');
ASSERT NULL VALUES old (name) KEY ('eve');

--@test: a stream takes records without a value
CREATE STREAM s (id INT KEY, n INT) WITH (kafka_topic='s', value_format='JSON');
CREATE STREAM next AS SELECT id, n + 1 AS m FROM s;
INSERT INTO s NULL VALUES KEY (1);
ASSERT NULL VALUES next (id) KEY (1);

--@test: headers are written and read
CREATE STREAM s (id INT KEY, n INT, trace BYTES HEADER('trace')) WITH (kafka_topic='s', value_format='JSON');
CREATE STREAM dest AS SELECT id, n, CAST(n AS STRING) || '!' AS n_text HEADER('n') FROM s;
CREATE STREAM read_back AS SELECT id, FROM_BYTES(n_text, 'utf8') AS a FROM dest;
CREATE STREAM bare WITH (inherit_headers = false) AS SELECT id, n FROM s;
CREATE STREAM again (id INT KEY, trace BYTES HEADER('trace'), n INT) WITH (kafka_topic='again', value_format='JSON');
INSERT INTO again SELECT id, UCASE(FROM_BYTES(trace, 'utf8')) AS trace, n FROM s;
CREATE STREAM traced AS SELECT id, FROM_BYTES(trace, 'utf8') AS b FROM again;
CREATE STREAM all_bare (id INT KEY, trace BYTES HEADER('trace')) WITH (kafka_topic='BARE', value_format='JSON');
INSERT INTO s (id, n, trace) VALUES (1, 5, LCASE('X-Y'));
INSERT INTO s (id, n, trace) VALUES (2, 6, NULL);
INSERT INTO s (id, n) VALUES (3, 7);
ASSERT VALUES read_back VALUES (1, '5!');
ASSERT VALUES traced VALUES (1, 'X-Y');
ASSERT VALUES traced VALUES (2, NULL);
ASSERT VALUES traced VALUES (3, NULL);
ASSERT VALUES dest (id, n, n_text) VALUES (1, 5, '5!');
ASSERT VALUES again (id, n, trace) VALUES (1, 5, 'X-Y');
ASSERT VALUES again (id, n, trace) VALUES (2, 6, NULL);

--@test: a header that is another one
--@expected.message: header 'n' of the next row of DEST differs
CREATE STREAM s (id INT KEY, n INT) WITH (kafka_topic='s', value_format='JSON');
CREATE STREAM dest AS SELECT id, n, CAST(n AS STRING) AS n_text HEADER('n') FROM s;
INSERT INTO s VALUES (1, 5);
ASSERT VALUES dest (id, n, n_text) VALUES (1, 5, '6');

--@test: records that cannot be read are in the dead-letter topic, as they were
CREATE STREAM texts (id INT KEY, t STRING) WITH (kafka_topic='s', value_format='KAFKA');
CREATE STREAM numbers (id INT KEY, n INT) WITH (kafka_topic='s', value_format='DELIMITED');
CREATE STREAM read WITH (dead_letter_topic='wrong') AS SELECT id, n + 1 AS m FROM numbers;
CREATE STREAM wrong (id INT KEY, t STRING) WITH (kafka_topic='wrong', value_format='KAFKA');
CREATE STREAM again AS SELECT id, UCASE(t) AS t FROM wrong;
INSERT INTO texts VALUES (1, '5');
INSERT INTO texts VALUES (2, 'five');
INSERT INTO texts VALUES (3, '7');
ASSERT VALUES read VALUES (1, 6);
ASSERT VALUES read VALUES (3, 8);
ASSERT VALUES wrong VALUES (2, 'five');
ASSERT VALUES again VALUES (2, 'FIVE');

--@test: several topics and those that match are one stream
CREATE STREAM eu (id INT KEY, n INT) WITH (kafka_topic='orders-eu', value_format='JSON');
CREATE STREAM us (id INT KEY, n INT) WITH (kafka_topic='orders-us', value_format='JSON');
CREATE STREAM other (id INT KEY, n INT) WITH (kafka_topic='other', value_format='JSON');
CREATE STREAM both (id INT KEY, n INT) WITH (kafka_topic='orders-eu,other', value_format='JSON');
CREATE STREAM all (id INT KEY, n INT) WITH (topic_pattern='orders-.*', value_format='JSON');
CREATE STREAM a AS SELECT id, n, SUBSTRING(ROWTOPIC, 7) AS region FROM both WHERE ROWTOPIC <> 'x';
CREATE TABLE b AS SELECT ROWTOPIC AS topic, SUM(n) AS n FROM all GROUP BY ROWTOPIC;
INSERT INTO eu VALUES (1, 5);
INSERT INTO us VALUES (1, 6);
INSERT INTO other VALUES (1, 7);
INSERT INTO eu VALUES (1, 8);
ASSERT VALUES a VALUES (1, 5, '-eu');
ASSERT VALUES a VALUES (1, 7, '');
ASSERT VALUES a VALUES (1, 8, '-eu');
ASSERT VALUES b VALUES ('orders-eu', 5);
ASSERT VALUES b VALUES ('orders-us', 6);
ASSERT VALUES b VALUES ('orders-eu', 13);

--@test: no topic matches
--@expected.message: no topic matches pattern "orders-.*"
CREATE STREAM all (id INT KEY, n INT) WITH (topic_pattern='orders-.*', value_format='JSON');
CREATE STREAM a AS SELECT * FROM all;

--@test: a stream looks a global table up by an expression
CREATE STREAM rides (id INT KEY, city STRING) WITH (kafka_topic='rides', value_format='JSON');
CREATE GLOBAL TABLE towns (town STRING PRIMARY KEY, people INT) WITH (kafka_topic='towns', value_format='JSON');
CREATE STREAM a AS SELECT r.id, t.town, t.people, t.ROWTIME AS at
FROM rides r LEFT JOIN towns t ON UCASE(r.city) = t.town WHERE r.id < 100;
CREATE TABLE b AS SELECT t.people AS people, COUNT(*) AS n FROM rides r JOIN towns t ON UCASE(r.city) = t.town GROUP BY t.people;
INSERT INTO towns (ROWTIME, town, people) VALUES (3, 'BONN', 5);
INSERT INTO rides VALUES (1, 'bonn');
INSERT INTO rides VALUES (2, 'ulm');
INSERT INTO towns (ROWTIME, town) VALUES (4, 'ULM');
INSERT INTO rides VALUES (2, 'Ulm');
DELETE FROM towns WHERE town = 'BONN';
INSERT INTO rides VALUES (1, 'bonn');
INSERT INTO rides (id) VALUES (3);
ASSERT VALUES a VALUES (1, 'BONN', 5, 3);
ASSERT VALUES a VALUES (2, NULL, NULL, NULL);
ASSERT VALUES a VALUES (2, 'ULM', NULL, 4);
ASSERT VALUES a VALUES (1, NULL, NULL, NULL);
ASSERT VALUES a VALUES (3, NULL, NULL, NULL);
ASSERT VALUES b VALUES (5, 1);
"""


@pytest.mark.spark
def test_extensions_of_ksqldb_have_the_expected_results(spark: SparkSession) -> None:
    assert spark is not None, "the kernel is in the JVM of this run"

    outcomes = [run_test(test) for test in read_tests(FILE, "a.sql")]

    assert [one.render() for one in outcomes if not one.passed] == []
    assert len(outcomes) == 8
