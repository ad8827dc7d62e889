"""`duolog mirror` never mixes its copy with the topics and records of others."""

import json
from collections.abc import Iterator
from threading import Event

import pytest
from confluent_kafka.admin import NewPartitions

from conformance.mirror_runs import TOPIC, admin, mirror, values, with_actions, write
from conformance.mirrored import TIMEOUT_S, empty, run_here
from duolog.cli.errors import MirrorConflict
from duolog.cli.mirror.target_topics import TargetTopics
from duolog.testing import Client, EmbeddedCluster
from duolog.testing.local_broker.local_broker import SETTINGS

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[EmbeddedCluster, EmbeddedCluster]]:
    with EmbeddedCluster(settings=SETTINGS) as here, EmbeddedCluster(settings=SETTINGS) as there:
        yield here, there


@pytest.fixture
def here(brokers: tuple[EmbeddedCluster, EmbeddedCluster]) -> str:
    """The address of an empty source."""
    return empty(brokers[0]).bootstrap_servers


@pytest.fixture
def there(brokers: tuple[EmbeddedCluster, EmbeddedCluster]) -> str:
    """The address of an empty target."""
    return empty(brokers[1]).bootstrap_servers


def recreate(servers: str, *records: str) -> None:
    client = Client(servers)
    client.delete_topics(TOPIC)
    client.create_topic(TOPIC)
    write(servers, *records)


def test_a_topic_that_was_created_again_on_the_target_is_copied_again(
    here: str, there: str
) -> None:
    Client(here).create_topic(TOPIC)
    write(here, "a", "b")
    assert mirror(here, there).returncode == 0
    recreate(there)

    plan = mirror(here, there, "--dry-run", "-o", "json")
    done = mirror(here, there)

    assert json.loads(plan.stdout)[0]["offsets"] == 2
    assert done.returncode == 0, done.stderr
    assert "copied 2 records" in done.stderr
    assert values(there) == ["a", "b"]


def test_a_topic_that_was_created_again_with_other_records_is_refused(
    here: str, there: str
) -> None:
    Client(here).create_topic(TOPIC)
    write(here, "a", "b")
    assert mirror(here, there).returncode == 0
    recreate(there, "foreign")

    refused = mirror(here, there)

    assert refused.returncode == 6
    assert "was written to by another program" in refused.stderr


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_topic_that_is_created_again_during_the_run_is_a_conflict(
    here: str, there: str, side: str
) -> None:
    Client(here).create_topic(TOPIC)
    write(here, "a", "b")
    running = with_actions(
        here, there, verifying=lambda: recreate(here if side == "source" else there, "a", "b")
    )

    with pytest.raises(MirrorConflict, match=f"of the {side} was deleted and created again"):
        running.run(Event())


def test_a_target_that_is_created_again_while_following_is_copied_again(
    here: str, there: str
) -> None:
    Client(here).create_topic(TOPIC)
    write(here, "a", "b")
    stopping = Event()

    def both() -> None:
        recreate(there)
        write(here, "c")

    running = with_actions(here, there, **{"copied 2": both, "copied 3": stopping.set})
    running.follow(stopping)

    assert mirror(here, there).returncode == 0
    assert values(there) == ["a", "b", "c"]


def test_a_foreign_record_between_two_rounds_is_a_conflict(here: str, there: str) -> None:
    Client(here).create_topic(TOPIC)
    write(here, "a", "b")
    stopping = Event()

    def both() -> None:
        write(there, "foreign")
        write(here, "d", "e", "f")

    # The plan of the second round checks the topic for the last time.
    running = with_actions(
        here,
        there,
        **{"copied 2": lambda: write(here, "c"), "copied 1": both, "copied 3": stopping.set},
    )

    with pytest.raises(MirrorConflict, match="written to by another program"):
        running.follow(stopping)
    assert values(there) == ["a", "b", "c", "foreign"]


def test_foreign_records_are_found_although_partitions_are_missing(here: str, there: str) -> None:
    Client(here).create_topic(TOPIC)
    write(here, "a")
    assert mirror(here, there).returncode == 0
    write(there, "foreign")
    client = admin(here)
    client.create_partitions([NewPartitions(TOPIC, 2)])[TOPIC].result(TIMEOUT_S)

    refused = mirror(here, there)

    assert refused.returncode == 6
    assert "was written to by another program (offset 2)" in refused.stderr


def test_a_topic_that_another_program_creates_meanwhile_gets_the_settings_for_a_copy(
    here: str, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Client(here).create_topic(TOPIC)
    Client(here).produce(TOPIC, "k", "a", timestamp_ms=5)
    prepare = TargetTopics.prepare

    def create_and_prepare(*arguments: object) -> None:
        settings = {"message.timestamp.type": "LogAppendTime"}
        Client(there).create_topic(TOPIC, configs=settings)
        prepare(*arguments)  # type: ignore[arg-type] # passed on as they are

    monkeypatch.setattr(TargetTopics, "prepare", create_and_prepare)

    done = mirror(here, there)

    assert done.returncode == 0, done.stderr
    assert [record.timestamp_ms for record in Client(there).read(TOPIC)] == [5]


def test_a_topic_that_another_program_creates_with_other_partitions_is_refused(
    here: str, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Client(here).create_topic(TOPIC)
    prepare = TargetTopics.prepare

    def create_and_prepare(*arguments: object) -> None:
        Client(there).create_topic(TOPIC, 3)
        prepare(*arguments)  # type: ignore[arg-type] # passed on as they are

    monkeypatch.setattr(TargetTopics, "prepare", create_and_prepare)

    refused = mirror(here, there)

    assert refused.returncode == 6
    assert "has 3 partitions on the target and 1 on the source" in refused.stderr


def test_a_progress_topic_that_deletes_records_is_refused(here: str, there: str) -> None:
    Client(here).create_topic(TOPIC)
    cluster_id = admin(here).list_topics(timeout=TIMEOUT_S).cluster_id
    Client(there).create_topic(f"duolog-mirror-{cluster_id}")

    refused = mirror(here, there)

    assert refused.returncode == 6
    assert "cannot store the progress of a mirror" in refused.stderr


def test_a_plan_names_only_groups_that_have_read_a_chosen_topic(here: str, there: str) -> None:
    for topic in (TOPIC, "users"):
        Client(here).create_topic(topic)
        write(here, "a", topic=topic)
        reset = "groups", "reset", f"of-{topic}", "--topic", topic, "--to-latest", "-b", here
        assert run_here(*reset).returncode == 0

    plan = mirror(here, there, "--dry-run", "--topics", TOPIC)

    assert 'would move group "of-orders"' in plan.stderr
    assert "of-users" not in plan.stderr


def test_an_unreachable_target_is_named_with_its_option(here: str) -> None:
    refused = mirror(here, "127.0.0.1:1")

    assert refused.returncode == 5
    assert "or name another with --to" in " ".join(refused.stderr.split())
