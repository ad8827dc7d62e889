"""`duolog users` against Apache Kafka, which refuses to alter a user twice in a request."""

import json

from conformance.command import Duolog
from conformance.kafka.peer import KafkaPeer
from waiting import wait_until

BOTH = ["SCRAM-SHA-256", "SCRAM-SHA-512"]
USER = "alice-of-duolog"


def test_users_are_added_changed_and_removed_on_apache_kafka(kafka_peer: KafkaPeer) -> None:
    duolog = Duolog(kafka_peer.bootstrap_servers)

    def done(*words: str, typed: str = "") -> str:
        found = duolog("users", *words, stdin=typed)
        assert found.returncode == 0, found.stderr
        return found.stdout

    def mechanisms() -> list[str]:
        rows = [json.loads(line) for line in done("list", "-o", "jsonl").splitlines()]
        return sorted(row["mechanism"] for row in rows if row["user"] == USER)

    # Kafka's broker applies a change some time after the answer of its controller.
    done("add", USER, "--password-file", "-", typed="first-secret\n")
    wait_until(lambda: mechanisms() == BOTH, "the user is there")
    done("password", USER, "--password-file", "-", typed="second-secret\n")
    done("remove", USER)
    wait_until(lambda: mechanisms() == [], "the user is gone")
