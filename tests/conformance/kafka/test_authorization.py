"""Compare Apache Kafka's answers with Duolog's, for every row of the table of rights.

Both brokers have an authorizer and the same resources. For each row, one right is denied to the
client, then given; both are sent the same request each time, and must give the same error codes,
name the same resources, and return the same parts of an answer. The StandardAuthorizer of Kafka is
the reference.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any, Final

import pytest

import waiting
from conformance.kafka.peer import KafkaPeer
from conformance.kafka.wire_client import WireClient
from conformance.kafka.wire_world import WireWorld
from conftest import RequireProgram
from duolog.broker.authorization.checks import Check, Effect
from duolog.broker.authorization.table import TABLE
from duolog.broker.router import find_apis
from duolog.protocol.messages import DESCRIBE_CLIENTS
from duolog.runtime.broker_process import BrokerProcess
from unit.broker.authorization.fake_authorizer import rights_of
from unit.broker.authorization.samples import SAMPLES, Sample
from unit.broker.authorization.world import NAMES, codes, joining, mentions

# A broker that does not answer fails one row: each has a connection of its own.
pytestmark = pytest.mark.timeout(120)

SETTINGS: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
APIS: Final = {int(api.key) for api in find_apis()} - {DESCRIBE_CLIENTS}
"""Without the one that Apache Kafka does not have."""
ROWS: Final = [
    (key, row) for key, checks in TABLE.items() if key in APIS for row in range(len(checks))
]
BY_PATTERN: Final = (68, 2)
"""Kafka looks for matching topics after its answer, so that a test must ask several times."""
GIVEN: Final = {
    # Metadata that creates a topic: Kafka's first answer does not have it, Duolog's has.
    (3, 2): ([0, 3], [0]),
    # AlterConfigs replaces the configs of all brokers: Kafka does not forget the cluster's
    # min.insync.replicas, which its eligible leader replicas need.
    (33, 2): ([40], [0]),
}
"""Error codes of Kafka and of Duolog to a client with the right, where they are not the same."""
PARTS: Final = {
    "cluster_authorized_operations",
    "topic_config_error_code",
    "num_partitions",
    "replication_factor",
}


@pytest.fixture(scope="module")
def kafka(
    require_program: RequireProgram, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WireWorld]:
    require_program("java", package="openjdk-17-jre-headless")
    require_program("mvn", package="maven")
    with KafkaPeer(tmp_path_factory.mktemp("authorized"), settings=SETTINGS) as peer:
        world = WireWorld(peer.bootstrap_servers)
        yield world
        world.close()


@pytest.fixture(scope="module")
def duolog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireWorld]:
    # Clients do not log in, so that rules distinguish their hosts.
    own = {"durability": "os", "group.initial.rebalance.delay.ms": "0"}
    settings = {"allow.insecure.listen": "true", **own, **SETTINGS}
    with BrokerProcess(tmp_path_factory.mktemp("duolog") / "data", settings=settings) as process:
        world = WireWorld(process.bootstrap_servers)
        yield world
        world.close()


def outcome(answer: Any, world: WireWorld, check: Check, item: str) -> Any:
    """Return what the answer says of an item: no text, time, address or id."""
    ids = world.names_by_id()
    if check.effect is Effect.LEFT_OUT:
        return mentions(answer, item, ids)
    found = sorted({code for _, code in codes(answer, ids)})
    return (found, sorted(set(parts(answer)))) if check.effect is Effect.PART else found


def parts(entity: Any) -> Iterator[tuple[str, int]]:
    for field in dataclasses.fields(entity):
        value = getattr(entity, field.name)
        if field.name in PARTS:
            yield field.name, int(value)
        for item in value if isinstance(value, tuple) else (value,):
            if dataclasses.is_dataclass(item):
                yield from parts(item)


def answered(world: WireWorld, key: int, row: int, kind: str, version: int) -> Any:
    """Send the request of a row as the client, and return its outcome."""
    check, sample = TABLE[key][row], SAMPLES[key, row]
    with world.client() as client:
        if (key, row) == BY_PATTERN:
            answer = by_pattern(client, world)
        else:
            fields = sample.make(world, version, [kind])  # type: ignore[arg-type]
            answer = client.ask(key, version, **fields)
    return outcome(answer, world, check, (sample.item or name_of(check, sample)).replace(*of(kind)))


def by_pattern(client: WireClient, world: WireWorld) -> Any:
    """Join a group by a pattern, and return the first answer with an assignment."""
    fields = joining(f"by-pattern-{len(world.patterns)}", subscribed_topic_regex=".*e.*")
    world.patterns.append(fields["group_id"])
    answers = [client.ask(68, 1, **fields)]

    def assigned() -> bool:
        fields["member_epoch"] = answers[-1].member_epoch
        answers.append(client.ask(68, 1, **fields))
        return mentions(answers[-1], "open", world.names_by_id())

    waiting.wait_until(assigned, lambda: answers[-1])
    return answers[-1]


def name_of(check: Check, sample: Sample) -> str:
    return sample.name or NAMES[check.resource]


def of(kind: str) -> tuple[str, str]:
    return "secret", kind


@pytest.mark.parametrize(("key", "row"), ROWS)
def test_both_brokers_answer_alike_without_a_right_and_with_it(
    kafka: WireWorld, duolog: WireWorld, key: int, row: int
) -> None:
    check, kind = TABLE[key][row], f"secret-{key}-{row}"
    rights = rights_of(check, name_of(check, SAMPLES[key, row]).replace(*of(kind)))
    version = min(kafka.versions[key], duolog.versions[key], SAMPLES[key, row].last)
    found: dict[str, list[Any]] = {}
    for name, world in (("kafka", kafka), ("duolog", duolog)):
        world.make(kind)
        with world.denied(rights):
            without = answered(world, key, row, kind, version)
        found[name] = [without, answered(world, key, row, kind, version)]
    without, given = found["kafka"]

    assert without != given
    assert check.code in without if check.shows_code else True
    assert found["duolog"][0] == without
    same = (given, given)
    assert (given, found["duolog"][1]) == GIVEN.get((key, row), same)
