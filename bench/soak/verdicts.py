"""Read what the persistent queries have written at the end, and compare it with the truth."""

import json
import time
from collections import Counter
from typing import Any, Final

from bench.soak.events import Produced
from bench.soak.queries import QUERIES, Bag, Query, Rows
from confluent_kafka import Consumer

import duolog
from duolog.client import Connection

COMPLETE_S: Final = 240.0
_LOOK_S: Final = 0.5
_SHOWN: Final = 3


class StreamRows:
    """The committed records of a stream's topic, read further at each look."""

    def __init__(self, servers: str, query: Query) -> None:
        self.bag: Bag = Counter()
        self._columns = query.columns
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": f"soak-{query.name}",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        self._consumer.subscribe([query.name])

    def look(self) -> Bag:
        """Return all rows so far."""
        while messages := self._consumer.consume(10_000, _LOOK_S):
            for message in messages:
                key, value = message.key(), message.value()
                if message.error() is None and key is not None and value is not None:
                    fields: dict[str, Any] = json.loads(value)
                    self.bag[key.decode(), *(fields[name] for name in self._columns)] += 1
        return self.bag

    def close(self) -> None:
        self._consumer.close()


def table_rows(connection: Connection, query: Query) -> Rows:
    """Return all rows of a table by key."""
    columns = ", ".join(query.columns)
    found = connection.execute(f"SELECT {columns} FROM {query.name}").fetchall()  # noqa: S608
    return {tuple(row[: query.keys]): tuple(row[query.keys :]) for row in found}


def verdict(query: Query, found: Any, truth: Any) -> dict[str, Any]:
    """Return the row of the report; `wrong` is empty if all is right."""
    if query.keys:
        wrong = [
            f"{key}: {found.get(key)}, not {truth.get(key)}"
            for key in sorted(found.keys() | truth.keys(), key=str)
            if found.get(key) != truth.get(key)
        ]
        count, repeated = len(found), 0
    else:
        missing, more = truth - found, found - truth
        repeated = sum(more[row] for row in more if row in truth)
        wrong = [f"missing: {row}" for row in missing]
        wrong += [f"too many: {row}" for row in more if query.once or row not in truth]
        count = found.total()
    return {
        "query": query.name,
        "kind": query.kind,
        "rows": count,
        "repeated": repeated,
        "wrong": len(wrong),
        "examples": wrong[:_SHOWN],
    }


def verdicts(url: str, servers: str, made: Produced) -> list[dict[str, Any]]:
    """Wait until each query has written the truth, at most COMPLETE_S; return a row for each."""
    deadline = time.monotonic() + COMPLETE_S
    with duolog.connect(url) as connection:
        return [_final(query, connection, servers, made, deadline) for query in QUERIES]


def _final(
    query: Query, connection: Connection, servers: str, made: Produced, deadline: float
) -> dict[str, Any]:
    truth = query.truth(made)
    stream = None if query.keys else StreamRows(servers, query)
    try:
        while True:
            found = stream.look() if stream else table_rows(connection, query)
            row = verdict(query, found, truth)
            if not row["wrong"] or time.monotonic() > deadline:
                return row
            time.sleep(_LOOK_S)
    finally:
        if stream:
            stream.close()
