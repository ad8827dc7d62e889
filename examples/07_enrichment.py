"""Enrichment: join each payment with the customer and the currency as of its arrival.

customers is a table, joined by the payment's key. currencies is a global table: every task has a
full copy, so that it can be joined by any column.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from duolog import Application, Topology, col
from duolog.testing import Client, EmbeddedCluster

Rows = list[tuple[str, str, dict[str, Any]]]
"""Topic, key, value."""

STEPS: list[tuple[str, Rows]] = [
    (
        "Customers and rates exist, and two payments arrive; bob is not a customer yet.",
        [
            ("customers", "ann", {"city": "Berlin"}),
            ("currencies", "EUR", {"euro": 1.0}),
            ("currencies", "USD", {"euro": 0.9}),
            ("payments", "ann", {"amount": 100.0, "currency": "USD"}),
            ("payments", "bob", {"amount": 20.0, "currency": "EUR"}),
        ],
    ),
    (
        "ann moves, bob becomes a customer, the dollar falls. This alone writes nothing.",
        [
            ("customers", "ann", {"city": "Rome"}),
            ("customers", "bob", {"city": "Oslo"}),
            ("currencies", "USD", {"euro": 0.8}),
        ],
    ),
    (
        "The same payments again, and one in a currency without a rate.",
        [
            ("payments", "ann", {"amount": 100.0, "currency": "usd"}),
            ("payments", "bob", {"amount": 20.0, "currency": "EUR"}),
            ("payments", "bob", {"amount": 5.0, "currency": "XYZ"}),
        ],
    ),
]
PARTITIONS = {"payments": 2, "customers": 2, "currencies": 1}
EXPECTED = [
    ("ann", "Berlin", 90.0),
    ("bob", None, 20.0),
    ("ann", "Rome", 80.0),
    ("bob", "Oslo", 20.0),
]


def topology() -> Topology:
    topology = Topology("enrichment")
    payments = topology.stream(
        "payments", key="customer STRING", value="amount DOUBLE, currency STRING"
    )
    customers = topology.table("customers", key="customer STRING", value="city STRING")
    currencies = topology.global_table("currencies", key="code STRING", value="euro DOUBLE")
    (
        payments.left_join(customers)
        .join(currencies, on=col("currency").upper())
        .map_values("city", in_euro=(col("amount") * col("euro")).round(2))
        .to("enriched")
    )
    return topology


def main() -> None:
    with TemporaryDirectory() as directory, EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        for topic, partitions in PARTITIONS.items():
            client.create_topic(topic, partitions)
        application = Application(
            topology(),
            bootstrap_servers=cluster.bootstrap_servers,
            data_dir=Path(directory),
            mode="micro-batch",
        )
        told: list[tuple[str | None, str | None, float]] = []
        with application:
            for text, rows in STEPS:
                print(text)
                for topic, key, value in rows:
                    client.produce(topic, key, json.dumps(value))
                    print(f"    {topic:10}  {key}: {value}")
                query = application.query if told else application.start()
                assert query.wait_until_caught_up(240)
                enriched = [
                    (record.timestamp_ms, record.key_text, json.loads(record.value or b""))
                    for record in client.read("enriched")
                ]
                enriched.sort(key=lambda record: record[0])
                for _, customer, value in enriched[len(told) :]:
                    print(f"        enriched    {customer}: {value}")
                    told.append((customer, value["city"], value["in_euro"]))
                print()
    assert told == EXPECTED, told
    print("Note: a payment is joined with the rows that exist when it arrives. A later change of a")
    print("table writes nothing and does not change earlier results. left_join keeps a payment")
    print(
        "without a customer, join drops one without a rate. customers must have the payments' key,"
    )
    print(
        "so that both are in one task. currencies is copied to every task, so that it can be joined"
    )
    print("by any expression, here col('currency').upper(), without moving the payments.")


if __name__ == "__main__":
    main()
