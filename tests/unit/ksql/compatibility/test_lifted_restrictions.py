"""Lifted restrictions of ksqlDB: supported, refused in strict mode, and listed in the reference."""

from pathlib import Path
from typing import Final

import pytest

from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession

PAGE: Final = Path(__file__).parents[4] / "docs/reference/ksqldb-compatibility.md"
SOURCES: Final = """
CREATE STREAM s (id INT KEY, a INT, b STRING) WITH (kafka_topic='s', value_format='JSON', partitions=3);
CREATE STREAM r (id INT KEY, a INT, b STRING) WITH (kafka_topic='r', value_format='JSON', partitions=2);
CREATE TABLE t (id INT PRIMARY KEY, a INT, b STRING) WITH (kafka_topic='t', value_format='JSON', partitions=3);
CREATE TABLE u (a INT PRIMARY KEY, b STRING PRIMARY KEY, n INT) WITH (kafka_topic='u', format='JSON', partitions=3);
"""
HOURS: Final = "CREATE TABLE x AS SELECT id, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 HOUR"
LIFTED: Final = {
    "`ON a.x = b.x AND a.y = b.y`": "CREATE STREAM x WITH (key_format='JSON') AS SELECT s.a, s.b, n FROM s JOIN u ON s.a = u.a AND s.b = u.b;",
    "topics with different numbers of partitions": "CREATE STREAM x AS SELECT s.id, r.a FROM s JOIN r WITHIN 1 HOUR ON s.id = r.id;",
    "a source joined with itself": "CREATE STREAM x AS SELECT l.id, m.a FROM s l JOIN s m WITHIN 1 HOUR ON l.id = m.id;",
    "`FROM (SELECT …) AS x`": "CREATE STREAM x AS SELECT * FROM (SELECT id, a + 1 AS c FROM s) AS q;",
    "`WITH x AS (SELECT …)`": "CREATE STREAM x AS WITH q AS (SELECT id, a FROM s) SELECT * FROM q;",
    "`SELECT … UNION ALL SELECT …`": "CREATE STREAM x AS SELECT id, a FROM s UNION ALL SELECT id, a FROM r;",
    "`CREATE TABLE … AS SELECT COUNT(*) FROM s`": "CREATE TABLE x AS SELECT COUNT(*) AS n FROM s;",
    "`COUNT(DISTINCT x)`": "CREATE TABLE x AS SELECT id, COUNT(DISTINCT a) AS n FROM s GROUP BY id;",
    "`CREATE TABLE … AS SELECT DISTINCT a, b FROM s`": "CREATE TABLE x WITH (key_format='JSON') AS SELECT DISTINCT a, b FROM s;",
    "WINDOWSTART and WINDOWEND in HAVING": f"{HOURS}) GROUP BY id HAVING WINDOWSTART > 5;",
    "`PARTITION BY ()`": "CREATE STREAM x AS SELECT * FROM s PARTITION BY ();",
    "GROUP BY over them": (
        "CREATE STREAM k (id INT KEY, a INT) WITH (kafka_topic='k', value_format='KAFKA', partitions=3); "
        "CREATE TABLE x AS SELECT id, COUNT(*) AS n FROM k GROUP BY id;"
    ),
    "persistent queries over a windowed table": (
        f"{HOURS}) GROUP BY id; CREATE TABLE y AS SELECT id, SUM(n) AS n FROM x GROUP BY id;"  # noqa: S608 - a test
    ),
    "MIN, MAX, TOPK, TOPKDISTINCT, COLLECT_SET": "CREATE TABLE x AS SELECT b, MAX(a) AS m, TOPK(a, 2) AS k FROM t GROUP BY b;",
    "`DELETE FROM t WHERE k = …`": "DELETE FROM t WHERE id = 1;",
    "`INSERT INTO t (k) NULL VALUES KEY ('a')`": "INSERT INTO t (id) NULL VALUES KEY (1);",
    "`WITH (TTL = '7 days')`": "CREATE TABLE x (id INT PRIMARY KEY, a INT) WITH (kafka_topic='t', value_format='JSON', ttl='7 days');",
    "`WINDOW TUMBLING (SIZE 1 MONTH, TIMEZONE 'Europe/Berlin', OFFSET 6 HOURS)`": (
        HOURS.replace("1 HOUR", "1 MONTH, TIMEZONE 'Europe/Berlin', OFFSET 6 HOURS")
        + ") GROUP BY id;"
    ),
    "`WINDOW … (…, IDLE TIMEOUT 30 SECONDS) … EMIT FINAL`": HOURS
    + ", IDLE TIMEOUT 30 SECONDS) GROUP BY id EMIT FINAL;",
    "`CREATE GLOBAL TABLE`": "CREATE GLOBAL TABLE x (id INT PRIMARY KEY, a INT) WITH (kafka_topic='t', value_format='JSON');",
    "`SELECT …, x AS name HEADER('name')`": "CREATE STREAM x AS SELECT id, a, b AS c HEADER('c') FROM s;",
    "`WITH (INHERIT_HEADERS = false)`": "CREATE STREAM x WITH (inherit_headers=false) AS SELECT * FROM s;",
    "INSERT INTO a stream with columns of HEADER": "CREATE STREAM x (id INT KEY, h BYTES HEADER('h')) WITH (kafka_topic='x', value_format='JSON', partitions=1);"
    "INSERT INTO x (id, h) VALUES (1, 'a');",
    "`KAFKA_TOPIC = 'a,b'`": "CREATE STREAM x (id INT KEY, a INT) WITH (kafka_topic='s,r', value_format='JSON');"
    "CREATE STREAM y AS SELECT * FROM x;",
    "`TOPIC_PATTERN = 'a-.*'`": "CREATE STREAM x (id INT KEY, a INT) WITH (topic_pattern='s.*', value_format='JSON');",
    "`ROWTOPIC`": "CREATE STREAM x AS SELECT id, ROWTOPIC AS topic FROM s;",
    "`CREATE STREAM … AS CHANGES OF t`": "CREATE STREAM x AS CHANGES OF t;",
    "`SELECT … FROM CHANGES OF t`": "CREATE STREAM x AS SELECT id, a FROM CHANGES OF t;",
    "`WITH (DEAD_LETTER_TOPIC = 'wrong')`": "CREATE STREAM x WITH (dead_letter_topic='wrong') AS SELECT * FROM s;",
}


@pytest.mark.parametrize("said", LIFTED)
def test_lifted_limits_are_supported_and_documented(said: str) -> None:
    list(SqlSession().run(SOURCES + LIFTED[said]))

    assert said in PAGE.read_text()


# In strict mode, a list or pattern of topics is the name of one topic, which the broker does not
# have.
@pytest.mark.parametrize("said", [said for said in LIFTED if "KAFKA_TOPIC" not in said])
def test_strict_mode_refuses_it(said: str) -> None:
    session = SqlSession()
    list(session.run(SOURCES.replace("b STRING PRIMARY KEY, n", "b STRING, n")))

    with pytest.raises(SqlError):
        list(session.run("SET 'ksql.compatibility' = 'strict';" + LIFTED[said]))
