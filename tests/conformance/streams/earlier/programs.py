"""Programs that an earlier version ran on the stored data, and that continue on it."""

import json
from typing import Any, Final

from duolog import Topology, col, count, sum_, top_k, when

APPLICATION: Final = "earlier"
LOGGED: Final = "logged"
SERVICE: Final = "earlier_"
NEVER: Final = {"retention.ms": "-1"}
SETTINGS: Final = {
    "durability": "os",
    "log.retention.ms": "-1",
    "offsets.retention.minutes": "2147483647",
    "transactional.id.expiration.ms": "2147483647",
}
"""Nothing is too old, however long ago it was written."""
KINDS: Final = ("a", "b")
EARLIER: Final = range(20)
LATER: Final = range(20, 30)
STATEMENTS: Final = """
SET 'auto.offset.reset' = 'earliest';
CREATE STREAM sales (id STRING KEY, kind STRING, d DOUBLE, price DECIMAL(6,2), at BIGINT, day STRING, tags ARRAY<STRING>)
    WITH (kafka_topic='sales', value_format='JSON');
CREATE TABLE hot WITH (kafka_topic='sql-hot') AS SELECT kind, SUM(CASE WHEN d > 5 THEN 1 ELSE 0 END) AS hot, COUNT(*) AS n
    FROM sales WHERE d <> 3.5 GROUP BY kind;
CREATE TABLE prices WITH (kafka_topic='sql-prices') AS SELECT CAST(price AS STRING) AS price, COUNT(*) AS n,
    MAX(UNIX_TIMESTAMP(FROM_UNIXTIME(at))) AS at, MAX(UNIX_TIMESTAMP(PARSE_TIMESTAMP(day, 'yyyy-MM-dd'))) AS day,
    LATEST_BY_OFFSET(ARRAY_JOIN(tags, '-')) AS tags
    FROM sales GROUP BY CAST(price AS STRING);
CREATE STREAM nulls AS SELECT id, CONCAT(NULL, NULL) AS c, GREATEST(NULL, NULL) AS g FROM sales;
CREATE STREAM twice (s STRUCT<a INT, a STRING>) WITH (kafka_topic='twice', value_format='JSON', partitions=1);
"""
"""Some of these are refused today, and must run on."""


def upper(kind: str) -> str:
    return kind.upper()


def topology() -> Topology:
    """Return the program whose layouts are lowered differently today."""
    app = Topology(APPLICATION)
    columns = "kind STRING, d DOUBLE, n INT"
    readings = app.stream("readings", key="id STRING", value=columns)
    hot = sum_(when(col("d") > 5, 1).otherwise(0))
    readings.group_by("kind").aggregate(hot=hot, total=count(), top=top_k("d", 1, "n")).to("hot")
    readings.select_key(upper).group_by_key().count().to("upper")
    things = app.table("things", key="id STRING", value=columns)
    things.filter(col("d").between(5, 99)).group_by("kind").count().to("warm")
    return app


def logged() -> Topology:
    """Return the program that runs exactly once and with changelogs."""
    app = Topology(LOGGED)
    readings = app.stream("readings", key="id STRING", value="kind STRING")
    readings.group_by("kind").count().to("kinds")
    return app


def reading(n: int) -> tuple[str, str]:
    value: dict[str, Any] = {"kind": KINDS[n % 2], "d": n / 2, "n": n}
    return f"r{n}", json.dumps(value)


def thing(n: int) -> tuple[str, str]:
    """Return an update of one of four keys, whose old value is retracted."""
    value: dict[str, Any] = {"kind": KINDS[n % 2], "d": float(n), "n": n}
    return f"t{n % 4}", json.dumps(value)


def sale(n: int) -> tuple[str, str]:
    value: dict[str, Any] = {
        "kind": KINDS[n % 2],
        "d": n / 2,
        "price": (n % 3) / 4,
        "at": 1_700_000_000_000 + n,
        "day": f"2026-01-{n + 1:02}",
        "tags": ["x", str(n)],
    }
    return f"s{n}", json.dumps(value)


RECORDS: Final = {"readings": reading, "things": thing, "sales": sale}
