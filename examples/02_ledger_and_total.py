"""A ledger and a total: a stream is history, a table is the present.

Each sale is a permanent event. The total per product is a row that changes. Every event updates
both.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from duolog import Application, Topology, col, count, sum_
from duolog.testing import Client, EmbeddedCluster

SALES = [("tea", 3), ("coffee", 5), ("tea", 4), ("cake", 6), ("coffee", 5), ("tea", 3)]


def topology() -> Topology:
    topology = Topology("totals")
    sales = topology.stream("sales", key="product STRING", value="amount BIGINT")
    totals = sales.group_by_key().aggregate(sales=count(), total=sum_(col("amount")))
    totals.to("totals")
    return topology


def main() -> None:
    with TemporaryDirectory() as directory, EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("sales")
        application = Application(
            topology(),
            bootstrap_servers=cluster.bootstrap_servers,
            data_dir=Path(directory),
            mode="micro-batch",
        )
        with application:
            query = application.start()
            for product, amount in SALES:
                client.produce("sales", product, json.dumps({"amount": amount}))
                assert query.wait_until_caught_up(240)
                ledger = client.read("sales")
                totals = {
                    row.key_text: json.loads(row.value or b"") for row in client.read("totals")
                }
                rows = ", ".join(f"{name} {row['total']}" for name, row in totals.items())
                print(
                    f"sold {product} for {amount}:  ledger of {len(ledger)} sales,  totals {rows}"
                )
        expected = {"tea": 10, "coffee": 10, "cake": 6}
        assert {name: row["total"] for name, row in totals.items()} == expected
        assert len(ledger) == len(SALES)
        print("\nNote: the ledger only grows and never changes. The totals change, and do not show")
        print("how they were computed. The ledger determines the totals, but the totals do not")
        print("determine the ledger.")


if __name__ == "__main__":
    main()
