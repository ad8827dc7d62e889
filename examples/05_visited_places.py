"""Visited places: an aggregate is a table, and its changes are a stream.

Visits are a stream of (user, place). The number of visits per user is a table, computed by
counting. Each visit changes one row, and the example shows the stream of these changes.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from duolog import Application, Topology
from duolog.testing import Client, EmbeddedCluster

VISITS = [
    ("alice", "Paris"),
    ("bob", "Sydney"),
    ("alice", "Rome"),
    ("bob", "Lima"),
    ("alice", "Berlin"),
    ("carol", "Oslo"),
]


def topology() -> Topology:
    topology = Topology("visits")
    visits = topology.stream("visits", key="user STRING", value="place STRING")
    visits.group_by_key().count("visits").to("visits-by-user")
    return topology


def main() -> None:
    with TemporaryDirectory() as directory, EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("visits")
        application = Application(
            topology(),
            bootstrap_servers=cluster.bootstrap_servers,
            data_dir=Path(directory),
            mode="micro-batch",
        )
        with application:
            query = application.start()
            print(f"{'visit':<18}{'change of the table':<24}table")
            for user, place in VISITS:
                client.produce("visits", user, json.dumps({"place": place}))
                assert query.wait_until_caught_up(240)
                changes = [
                    (row.key_text, json.loads(row.value or b"")["visits"])
                    for row in client.read("visits-by-user")
                ]
                who, visits = changes[-1]
                table = dict(changes)
                print(f"{user + ' in ' + place:<18}{f'{who} -> {visits}':<24}{table}")
        assert table == {"alice": 3, "bob": 2, "carol": 1}
        assert [user for user, _ in changes] == [user for user, _ in VISITS]
        print("\nNote: one event changes one row. The latest change of each user is the table.")


if __name__ == "__main__":
    main()
