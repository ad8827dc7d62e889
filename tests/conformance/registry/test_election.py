"""Several registries of one topic: one writes, and no id or version is given away twice."""

import os
import random
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from conformance.registry.clients import Answer, ask, record_schema, register, stored
from conformance.registry.conftest import StartRegistry
from duolog.runtime.registry_process import RegistryProcess
from duolog.testing.cluster import EmbeddedCluster
from waiting import wait_until

SESSION = ("--session-timeout", "6")
"""The shortest that Apache Kafka's default settings allow."""
CLIENTS = 6
CHANGES = 4


def leader_url(bootstrap_servers: str) -> str | None:
    """Return the URL of the group's member that owns the topic's partition."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    group = admin.describe_consumer_groups(["schema-registry"])["schema-registry"].result(60)
    for member in group.members:
        if member.assignment.topic_partitions:
            return str(member.client_id)
    return None


def wait_for_leader(bootstrap_servers: str, among: set[str]) -> str:
    def found() -> str | None:
        url = leader_url(bootstrap_servers)
        return url if url in among else None

    url = wait_until(found, f"a leader among {among}")
    assert url is not None
    return url


def test_a_follower_forwards_writes_and_then_reads_what_was_written(
    cluster: EmbeddedCluster, start_registry: StartRegistry
) -> None:
    first, second = start_registry(), start_registry()
    leader = wait_for_leader(cluster.bootstrap_servers, {first.url, second.url})
    follower = second.url if leader == first.url else first.url

    for number in range(20):
        subject = f"subject-{number}"
        answer = register(follower, subject, record_schema(f"R{number}"))
        assert answer.status == 200, answer
        assert ask(follower, "GET", f"/subjects/{subject}/versions").body == [1]

    assert ask(follower, "PUT", "/config/a", {"compatibility": "FULL"}).status == 200
    assert ask(follower, "GET", "/config/a").body == {"compatibilityLevel": "FULL"}
    refused = ask(follower, "DELETE", "/subjects/unknown")
    assert (refused.status, refused.body["error_code"]) == (404, 40401)


def test_a_registration_that_changes_nothing_needs_no_leader(
    cluster: EmbeddedCluster, start_registry: StartRegistry
) -> None:
    # The group keeps its leader for longer than the client waits.
    first, second = (start_registry("--session-timeout", "300") for _ in range(2))
    leader = wait_for_leader(cluster.bootstrap_servers, {first.url, second.url})
    follower = second if leader == first.url else first
    answer = register(follower.url, "a", record_schema("R"))

    (first if follower is second else second).kill()

    assert register(follower.url, "a", record_schema("R")).body == answer.body


def test_a_forwarded_write_is_not_forwarded_again(
    cluster: EmbeddedCluster, start_registry: StartRegistry
) -> None:
    first, second = start_registry(), start_registry()
    leader = wait_for_leader(cluster.bootstrap_servers, {first.url, second.url})
    follower = second.url if leader == first.url else first.url

    refused = ask(
        follower,
        "POST",
        "/subjects/a/versions",
        {"schema": record_schema("R")},
        headers={"X-Forward": "true"},
    )

    assert (refused.status, refused.body["error_code"]) == (500, 50004)


def test_a_registry_that_stops_hands_over_at_once(
    cluster: EmbeddedCluster, start_registry: StartRegistry
) -> None:
    first, second = start_registry(), start_registry()
    wait_for_leader(cluster.bootstrap_servers, {first.url, second.url})
    register(first.url, "a", record_schema("A"))
    leader = leader_url(cluster.bootstrap_servers)
    stopped, rest = (first, second) if leader == first.url else (second, first)

    status = stopped.stop()

    assert status == 0
    assert register(rest.url, "b", record_schema("B")).body == {"id": 2}


class Clients:
    """Clients that register all the time, at registries that come and go."""

    def __init__(self) -> None:
        self.random = random.Random()  # noqa: S311 - for variety, not for secrets
        self.stop = Event()
        self.urls: list[str] = []
        self.answered: list[tuple[str, str, int]] = []

    def run(self, client: int) -> int:
        """Register new and known schemas until `stop`; return how many requests failed."""
        number = failed = 0
        while not self.stop.is_set():
            # Half of the schemas are shared by clients, so that they race for the same id.
            name = f"Shared{number}" if number % 2 else f"Own{client}x{number}"
            subject = f"subject-{self.random.randrange(8)}-{name}"
            schema = record_schema(name)
            answer = self._register(subject, schema)
            if answer is None or answer.status != 200:
                failed += 1
                self.stop.wait(0.05)
                continue
            self.answered.append((subject, schema, answer.body["id"]))
            number += 1
        return failed

    def _register(self, subject: str, schema: str) -> Answer | None:
        try:
            return register(self.random.choice(self.urls), subject, schema)
        except OSError:
            return None


def check_topic(bootstrap_servers: str, answered: list[tuple[str, str, int]]) -> None:
    """Check that ids and versions are unique, and that each answer is in the topic."""
    schema_of: dict[int, str] = {}
    versions: Counter[tuple[str, int]] = Counter()
    found: set[tuple[str, str, int]] = set()
    key: dict[str, Any]
    for key, value in stored(bootstrap_servers):
        if key["keytype"] != "SCHEMA":
            continue
        assert schema_of.setdefault(value["id"], value["schema"]) == value["schema"], (
            f"id {value['id']} was given away twice"
        )
        versions[key["subject"], key["version"]] += 1
        found.add((key["subject"], _plain(value["schema"]), value["id"]))

    assert len(set(schema_of.values())) == len(schema_of), "a schema got two ids"
    assert max(versions.values()) == 1, "a version was given away twice"
    missing = {(subject, _plain(schema), number) for subject, schema, number in answered} - found
    assert not missing, "an answer is not in the topic"


def _plain(schema: str) -> str:
    return "".join(schema.split())


def pause_and_continue(process: RegistryProcess, others: set[str], servers: str) -> None:
    """Pause a leader until another one leads, and let it continue in the belief that it leads."""
    os.kill(process.pid, signal.SIGSTOP)
    wait_for_leader(servers, others)
    os.kill(process.pid, signal.SIGCONT)


def replace_leaders(start_registry: StartRegistry, servers: str) -> None:
    """Kill and pause leaders while clients register, and check what is in the topic."""
    running = {made.url: made for made in (start_registry(*SESSION) for _ in range(3))}
    clients = Clients()
    clients.urls = list(running)
    wait_for_leader(servers, set(running))
    with ThreadPoolExecutor(CLIENTS) as pool:
        done = [pool.submit(clients.run, number) for number in range(CLIENTS)]
        try:
            for change in range(CHANGES):
                before = len(clients.answered)
                wait_until(
                    lambda: len(clients.answered) > before + 20,  # noqa: B023 - called at once
                    "registrations under a leader",
                    180,
                )
                leader = wait_for_leader(servers, set(running))
                if change % 2:
                    pause_and_continue(running[leader], set(running) - {leader}, servers)
                else:
                    running[leader].kill()
                    wait_for_leader(servers, set(running) - {leader})
                    running[leader].restart()
        finally:
            clients.stop.set()
        for future in done:
            future.result(180)

    check_topic(servers, clients.answered)


@pytest.mark.timeout(600)
def test_leaders_that_die_or_pause_never_give_away_an_id_twice(
    cluster: EmbeddedCluster, start_registry: StartRegistry
) -> None:
    replace_leaders(start_registry, cluster.bootstrap_servers)


def test_many_clients_that_register_one_schema_get_one_id(
    cluster: EmbeddedCluster, start_registry: StartRegistry
) -> None:
    urls = [start_registry().url, start_registry().url]
    schema = record_schema("R")
    with ThreadPoolExecutor(50) as pool:
        answers = list(
            pool.map(lambda n: register(urls[n % 2], f"subject-{n % 5}", schema), range(50))
        )

    assert {answer.status for answer in answers} == {200}
    assert {answer.body["id"] for answer in answers} == {1}
    check_topic(cluster.bootstrap_servers, [])
