"""Duality, row by row: the same records read as a stream and as a table.

bob: Rome      stream: one more record    table: insert
bob: Oslo      stream: one more record    table: update
bob: null      stream: one more record    table: delete
null: Paris    stream: one more record    table: ignored
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from duolog import Application, Topology
from duolog.testing import Client, EmbeddedCluster

Record = tuple[str | None, str | None]
RECORDS: list[tuple[Record, str]] = [
    (("bob", "Rome"), "insert"),
    (("bob", "Oslo"), "update"),
    (("bob", None), "delete"),
    ((None, "Paris"), "ignored"),
]


def topology() -> Topology:
    """Read the topic as a table, and write the changes of the table."""
    topology = Topology("duality")
    table = topology.table("moves", key="name STRING", value="city STRING")
    table.to("as-table")
    return topology


def read(client: Client, topic: str) -> list[Record]:
    """Return the current content of a topic: names and cities."""
    return [
        (record.key_text, None if record.value is None else json.loads(record.value)["city"])
        for record in client.read(topic)
    ]


def rows_of(changelog: list[Record]) -> dict[str | None, str]:
    """Return the rows of a changelog: the latest value of each key, without deleted ones."""
    latest = dict(changelog)
    return {key: value for key, value in latest.items() if value is not None}


def main() -> None:
    with TemporaryDirectory() as directory, EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("moves")
        application = Application(
            topology(),
            bootstrap_servers=cluster.bootstrap_servers,
            data_dir=Path(directory),
            mode="micro-batch",
        )
        with application:
            query = application.start()
            for (name, city), effect in RECORDS:
                client.produce("moves", name, None if city is None else json.dumps({"city": city}))
                assert query.wait_until_caught_up(240)
                stream, changelog = read(client, "moves"), read(client, "as-table")
                print(f"{name}: {city}  ({effect})")
                print(f"    the stream holds {stream}")
                print(f"    the table holds  {rows_of(changelog)}")
        assert [record for record, _ in RECORDS] == stream
        assert changelog == [("bob", "Rome"), ("bob", "Oslo"), ("bob", None)]
        assert rows_of(changelog) == {}
        print(f"\nThe table's changelog is a stream again: {changelog}")
        print("Note: a stream keeps every record. A table keeps the latest value per key. A null")
        print("value deletes a row, and a record without a key is ignored.")


if __name__ == "__main__":
    main()
