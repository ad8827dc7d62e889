"""Forbidden resources look like missing ones."""

from uuid import UUID

import pytest

from duolog.broker.authorization.checks import Effect
from duolog.broker.authorization.table import TABLE
from duolog.protocol.error_codes import ErrorCode
from duolog.security.authorization.operations import Operation, ResourceType
from unit.broker.authorization.fake_authorizer import rights_of
from unit.broker.authorization.samples import SAMPLES
from unit.broker.authorization.test_table_walk import APIS, ROWS, secret_name
from unit.broker.authorization.world import OPEN, SECRET, World, mentions, opened

# Left out: rows whose resource the request does not name (65, 68, 69), and those of clients that
# may DESCRIBE the topic, and so know of it (3, 20).
NAMED = [
    (key, row, version)
    for key, row, version in ROWS
    if TABLE[key][row].resource is not ResourceType.CLUSTER
    and TABLE[key][row].effect is not Effect.PART
    and (key, row) not in {(69, 1), (3, 2), (65, 1), (68, 2), (20, 1)}
]
DELETE_TOPICS, METADATA, FETCH = 20, 3, 1


def answer_bytes(world: World, key: int, row: int, version: int) -> bytes:
    check, sample = TABLE[key][row], SAMPLES[key, row]
    name = secret_name(check, sample)
    others = ["secret-cg"] if check.resource is ResourceType.GROUP else []
    world.authorizer.change(*(right for one in (name, *others) for right in rights_of(check, one)))
    client = world.client()
    kinds = [SECRET] if check.effect is not Effect.LEFT_OUT else [OPEN, SECRET]
    world.harness.turn()
    client.send(key, version, **sample.make(world, version, kinds))
    world.harness.turn_until(client.whole_answer)
    found = bytes(client._received)  # noqa: SLF001  The bytes as they came.
    # Each broker has its own ids.
    found = found.replace(world.broker.cluster_id.encode(), b"cluster")
    for topic in world.broker.topics:
        found = found.replace(topic.id.bytes, topic.name.encode())
    return found


@pytest.mark.parametrize(("key", "row", "version"), NAMED)
def test_a_forbidden_resource_is_answered_like_a_missing_one(
    key: int, row: int, version: int
) -> None:
    if key == FETCH and version > 12:
        pytest.skip("a missing topic has no id")
    if (key, row) == (0, 0):
        pytest.skip("a batch needs a producer; its transactional id is not looked up before")
    with opened() as world:
        existing = answer_bytes(world, key, row, version)
    with opened(secrets=False) as world:
        missing = answer_bytes(world, key, row, version)

    assert existing == missing


@pytest.mark.parametrize("describable", [True, False])
def test_a_topic_that_may_not_be_deleted_by_id_has_a_name_for_those_who_may_see_it(
    *, describable: bool
) -> None:
    with opened() as world:
        secret = world.broker.topics.find(SECRET)
        hidden = (Operation.DESCRIBE, ResourceType.TOPIC, SECRET)
        cluster = (Operation.DELETE, ResourceType.CLUSTER, "kafka-cluster")
        denied = (Operation.DELETE, ResourceType.TOPIC, SECRET)
        world.authorizer.change(denied, cluster, *(() if describable else (hidden,)))
        topics = [{"name": None, "topic_id": id_} for id_ in (secret.id, UUID(int=7))]

        answer = world.client().ask(DELETE_TOPICS, 6, topics=topics)

        forbidden, unknown = answer.responses
        assert forbidden.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert forbidden.name == (SECRET if describable else None)
        assert SECRET not in forbidden.error_message
        assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_ID
        assert SECRET in world.broker.topics


def test_a_topic_by_id_keeps_its_name_from_those_who_may_not_see_it() -> None:
    with opened() as world:
        secret, open_ = (world.broker.topics.find(name) for name in (SECRET, OPEN))
        world.authorizer.change((Operation.DESCRIBE, ResourceType.TOPIC, SECRET))
        topics = [{"name": None, "topic_id": topic.id} for topic in (secret, open_)]

        answer = world.client().ask(METADATA, 13, topics=topics)

        forbidden, shown = answer.topics
        assert forbidden.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert (forbidden.name, forbidden.topic_id, forbidden.partitions) == (None, secret.id, ())
        assert (shown.error_code, shown.name) == (0, OPEN)


def test_an_unknown_id_is_unknown_to_clients_without_rights() -> None:
    with opened() as world:
        world.authorizer.change(
            *((operation, ResourceType.TOPIC, SECRET) for operation in Operation)
        )
        topics = [{"name": None, "topic_id": UUID(int=9)}]

        answer = world.client().ask(METADATA, 13, topics=topics)

        assert [row.error_code for row in answer.topics] == [ErrorCode.UNKNOWN_TOPIC_ID]


def test_no_answer_to_a_client_without_rights_has_a_secret_name_that_it_did_not_send() -> None:
    """Ask all that names nothing, without any right."""
    with opened() as world:
        ids = world.names_by_id()
        names = (SECRET, "secret-group", "secret-tx", "secret-cg")
        world.authorizer.change(
            *(
                (operation, resource, name)
                for operation in Operation
                for resource in ResourceType
                for name in (*names, "kafka-cluster")
            )
        )
        for (key, row), sample in SAMPLES.items():
            if key not in APIS or TABLE[key][row].effect is not Effect.LEFT_OUT:
                continue
            version = min(APIS[key].versions.stop - 1, sample.last)
            answer = world.client().ask(key, version, **sample.make(world, version, [OPEN]))

            assert not any(mentions(answer, name, ids) for name in names), (key, row)
