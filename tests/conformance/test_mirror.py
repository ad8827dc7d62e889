"""`duolog mirror` between two Duolog brokers, as a user calls it."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from conformance.command import Duolog
from conformance.mirrored import (
    GROUPS,
    KILLS,
    TIMEOUT_S,
    TOPIC,
    Ended,
    empty,
    fill,
    killed,
    records,
    rest_of,
    run_here,
)
from conformance.test_internal_topics import begin, state_of
from duolog.testing import Client, EmbeddedCluster
from duolog.testing.local_broker.local_broker import SETTINGS
from waiting import wait_for_equal

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def source() -> Iterator[EmbeddedCluster]:
    """A source that no test changes."""
    with EmbeddedCluster(settings=SETTINGS) as cluster:
        fill(cluster.bootstrap_servers)
        yield cluster


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[EmbeddedCluster, EmbeddedCluster]]:
    """A source and a target that tests share."""
    with EmbeddedCluster(settings=SETTINGS) as here, EmbeddedCluster(settings=SETTINGS) as there:
        yield here, there


@pytest.fixture
def other_source(brokers: tuple[EmbeddedCluster, EmbeddedCluster]) -> EmbeddedCluster:
    """An empty source that a test may write to."""
    return empty(brokers[0])


@pytest.fixture
def target(brokers: tuple[EmbeddedCluster, EmbeddedCluster]) -> EmbeddedCluster:
    """An empty target."""
    return empty(brokers[1])


def mirror(source: EmbeddedCluster, target: EmbeddedCluster, *words: str) -> Ended:
    here, there = source.bootstrap_servers, target.bootstrap_servers
    return run_here("mirror", "-b", here, "--to", there, *words)


def read_until(process: "subprocess.Popen[str]", text: str) -> None:
    """Read lines of standard error up to one that contains `text`."""
    assert process.stderr is not None
    read = []
    for line in process.stderr:
        read.append(line)
        if text in line:
            return
    pytest.fail(f"ended without {text!r}: {''.join(read)}")


def assert_same(source: EmbeddedCluster, target: EmbeddedCluster) -> None:
    """Records, settings, and the rest that each group has still to read."""
    here, there = source.bootstrap_servers, target.bootstrap_servers

    assert records(there) == records(here)
    for group in GROUPS:
        assert rest_of(there, TOPIC, group) == rest_of(here, TOPIC, group), group
    described = [
        json.loads(run_here("topics", "describe", TOPIC, "-o", "json", "-b", servers).stdout)[0]
        for servers in (here, there)
    ]
    assert described[0]["configs"] == described[1]["configs"] != {}


def test_topics_records_settings_and_groups_are_moved(
    source: EmbeddedCluster, target: EmbeddedCluster
) -> None:
    plan = mirror(source, target, "--dry-run", "-o", "json")
    before = AdminClient({"bootstrap.servers": target.bootstrap_servers}).list_topics(timeout=60)
    done = mirror(source, target, "-o", "json")
    again = mirror(source, target)

    assert done.returncode == 0, done.stderr
    (planned,) = json.loads(plan.stdout)
    assert (planned["topic"], planned["partitions"], planned["action"]) == (TOPIC, 2, "create")
    assert [topic for topic in before.topics if not topic.startswith("__")] == []
    rows = json.loads(done.stdout)
    assert [(row["partition"], row["records"]) for row in rows] == [(0, 150), (1, 150)]
    assert "copied 300 records" in done.stderr
    assert 'moved group "half-read" in 2 partitions' in done.stderr
    assert_same(source, target)
    assert again.returncode == 0, again.stderr
    assert "copied 0 records" in again.stderr
    assert "moved group" not in again.stderr


def test_timestamps_stay_although_the_target_sets_its_own(
    other_source: EmbeddedCluster, target: EmbeddedCluster
) -> None:
    settings = {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}
    client = Client(other_source.bootstrap_servers)
    client.create_topic("stamped", 2, settings)
    client.produce("stamped", "a", "first")
    client.produce("stamped", "b", None)

    done = mirror(other_source, target)

    assert done.returncode == 0, done.stderr
    there = target.bootstrap_servers
    assert records(there, "stamped") == records(other_source.bootstrap_servers, "stamped")
    described = run_here("topics", "describe", "stamped", "-o", "json", "-b", there).stdout
    assert json.loads(described)[0]["configs"] == settings


def test_a_group_that_has_read_all_has_no_lag(
    source: EmbeddedCluster, target: EmbeddedCluster
) -> None:
    assert mirror(source, target).returncode == 0

    there = target.bootstrap_servers
    told = run_here("groups", "describe", "at-the-end", "-o", "json", "-b", there)

    assert [row["lag"] for row in json.loads(told.stdout)] == [0, 0]


@pytest.mark.parametrize("point", KILLS)
def test_a_killed_mirror_continues_without_loss_or_duplicates(
    source: EmbeddedCluster, target: EmbeddedCluster, point: str
) -> None:
    words = "mirror", "-b", source.bootstrap_servers, "--to", target.bootstrap_servers
    first = subprocess.run(
        killed(KILLS[point], *words), capture_output=True, text=True, timeout=120, check=False
    )
    done = mirror(source, target)

    assert first.returncode == -signal.SIGKILL, first.stderr
    assert done.returncode == 0, done.stderr
    assert_same(source, target)


def test_a_data_directory_is_moved_without_a_running_broker(
    tmp_path: Path, target: EmbeddedCluster
) -> None:
    with EmbeddedCluster(tmp_path / "data", SETTINGS) as running:
        fill(running.bootstrap_servers)
        expected = records(running.bootstrap_servers)
        busy = Duolog("").run(
            *("mirror", "--data", str(tmp_path / "data"), "--to", target.bootstrap_servers)
        )

    done = Duolog("").run(
        *("mirror", "--data", str(tmp_path / "data"), "--to", target.bootstrap_servers),
        timeout_s=120,
    )

    assert busy.returncode != 0
    assert "name it with -b instead" in busy.stderr
    assert done.returncode == 0, done.stderr
    assert records(target.bootstrap_servers) == expected


def test_records_written_later_are_copied_by_the_next_run(
    other_source: EmbeddedCluster, target: EmbeddedCluster
) -> None:
    fill(other_source.bootstrap_servers)
    assert mirror(other_source, target).returncode == 0
    Client(other_source.bootstrap_servers).produce(TOPIC, "late", "record", timestamp_ms=5)

    done = mirror(other_source, target, "-o", "json")

    assert done.returncode == 0, done.stderr
    assert "copied 1 record" in done.stderr
    assert_same(other_source, target)


def test_follow_copies_new_records_and_topics_until_it_is_interrupted(
    other_source: EmbeddedCluster, target: EmbeddedCluster
) -> None:
    fill(other_source.bootstrap_servers)
    here, there = other_source.bootstrap_servers, target.bootstrap_servers
    command = [sys.executable, "-m", "duolog", "mirror", "-b", here, "--to", there, "--follow"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        read_until(process, "copied 300")
        Client(here).produce(TOPIC, "late", "record", timestamp_ms=5)
        read_until(process, "copied 1 ")
        wait_for_equal(lambda: records(there), records(here))
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT_S) == 130

    done = mirror(other_source, target)

    assert done.returncode == 0, done.stderr
    assert_same(other_source, target)


@pytest.mark.parametrize("side", ["source", "target"])
def test_follow_continues_after_a_restart_of_a_broker(
    other_source: EmbeddedCluster, target: EmbeddedCluster, side: str
) -> None:
    fill(other_source.bootstrap_servers)
    here, there = other_source.bootstrap_servers, target.bootstrap_servers
    command = [sys.executable, "-m", "duolog", "mirror", "-b", here, "--to", there, "--follow"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        read_until(process, "copied 300")
        broker = other_source if side == "source" else target
        broker.kill()
        read_until(process, "retrying for")
        broker.restart()
        Client(here).produce(TOPIC, "late", "record", timestamp_ms=5)
        read_until(process, "copied 1 ")
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT_S) == 130

    assert mirror(other_source, target).returncode == 0
    assert_same(other_source, target)


def test_a_topic_with_other_records_is_refused_before_anything_is_created(
    source: EmbeddedCluster, target: EmbeddedCluster
) -> None:
    client = Client(target.bootstrap_servers)
    client.create_topic(TOPIC, 2)
    client.produce(TOPIC, None, "foreign")

    refused = mirror(source, target)

    assert refused.returncode == 6
    assert f'of topic "{TOPIC}" of the target was written to by another program' in refused.stderr
    assert [record.value for record in client.read(TOPIC)] == [b"foreign"]
    admin = AdminClient({"bootstrap.servers": target.bootstrap_servers})
    topics = admin.list_topics(timeout=60).topics
    assert [topic for topic in topics if not topic.startswith("__")] == [TOPIC]


def test_a_topic_in_use_on_the_target_takes_no_more_records(
    other_source: EmbeddedCluster, target: EmbeddedCluster
) -> None:
    fill(other_source.bootstrap_servers)
    assert mirror(other_source, target).returncode == 0
    Client(target.bootstrap_servers).produce(TOPIC, None, "of the target")
    unchanged = mirror(other_source, target)
    Client(other_source.bootstrap_servers).produce(TOPIC, None, "of the source")

    refused = mirror(other_source, target)

    assert unchanged.returncode == 0, unchanged.stderr
    assert refused.returncode == 6


def test_a_group_that_has_started_on_the_target_keeps_its_offsets(
    other_source: EmbeddedCluster, target: EmbeddedCluster
) -> None:
    fill(other_source.bootstrap_servers)
    assert mirror(other_source, target).returncode == 0
    there = "-b", target.bootstrap_servers
    run_here("groups", "reset", "half-read", "--all-topics", "--to-offset", "30", *there)

    done = mirror(other_source, target)

    assert done.returncode == 0
    assert 'group "half-read" has started on the target' in done.stderr
    rows = json.loads(run_here("groups", "describe", "half-read", "-o", "json", *there).stdout)
    assert [row["committed_offset"] for row in rows] == [30, 30]


def test_a_group_that_reads_on_at_the_source_after_a_kill_is_moved_again(
    other_source: EmbeddedCluster, target: EmbeddedCluster
) -> None:
    fill(other_source.bootstrap_servers)
    here, there = other_source.bootstrap_servers, target.bootstrap_servers
    words = "mirror", "-b", here, "--to", there
    command = killed(KILLS["after the commit of a group"], *words)
    subprocess.run(command, capture_output=True, timeout=120, check=False)
    reset = "groups", "reset", "half-read", "--all-topics", "--to-offset", "200"
    assert run_here(*reset, "-b", here).returncode == 0

    done = mirror(other_source, target)

    assert done.returncode == 0, done.stderr
    assert "has started on the target" not in done.stderr
    assert_same(other_source, target)


def test_another_number_of_partitions_is_refused(
    source: EmbeddedCluster, target: EmbeddedCluster
) -> None:
    Client(target.bootstrap_servers).create_topic(TOPIC, 3)

    refused = mirror(source, target)

    assert refused.returncode == 6
    assert "has 3 partitions on the target and 2 on the source" in refused.stderr


def test_a_deleted_copy_is_copied_again(source: EmbeddedCluster, target: EmbeddedCluster) -> None:
    assert mirror(source, target).returncode == 0
    Client(target.bootstrap_servers).delete_topics(TOPIC)

    done = mirror(source, target)

    assert done.returncode == 0, done.stderr
    assert_same(source, target)


def test_state_of_duolog_applications_is_left_out_and_that_of_kafka_streams_is_copied(
    other_source: EmbeddedCluster, target: EmbeddedCluster, tmp_path: Path
) -> None:
    begin(state_of(other_source, tmp_path, "shop"))
    client = Client(other_source.bootstrap_servers)
    copied = ["shop-java-changelog", "shop-java-repartition", "users-commits"]
    for topic in copied:
        client.create_topic(topic)
        client.produce(topic, "k", "v")
    client.create_topic("_duolog-ksql-shop_command_topic")

    done = mirror(other_source, target, "-o", "json")

    assert done.returncode == 0, done.stderr
    assert [row["topic"] for row in json.loads(done.stdout)] == copied
    for topic in ("shop-totals-changelog", "shop-rows-changelog", "shop-commits"):
        assert f'left out internal topic "{topic}" of shop' in done.stderr
    assert 'internal topic "_duolog-ksql-shop_command_topic" of SQL' in done.stderr


def test_only_chosen_topics_and_groups_are_moved(
    source: EmbeddedCluster, target: EmbeddedCluster
) -> None:
    nothing = mirror(source, target, "--topics", "order", "-o", "json")
    done = mirror(source, target, "--topics", "ord.*", "--groups", "half-read")

    assert json.loads(nothing.stdout) == []
    assert done.returncode == 0, done.stderr
    listed = run_here("groups", "list", "-o", "json", "-b", target.bootstrap_servers)
    assert [row["group"] for row in json.loads(listed.stdout)] == ["half-read"]


def test_a_cluster_is_not_mirrored_to_itself(source: EmbeddedCluster) -> None:
    refused = mirror(source, source)

    assert refused.returncode == 6
    assert "the same cluster" in refused.stderr


def test_metadata_of_committed_offsets_is_moved(
    source: EmbeddedCluster, target: EmbeddedCluster
) -> None:
    assert mirror(source, target).returncode == 0

    from confluent_kafka import Consumer  # noqa: PLC0415

    consumer = Consumer({"bootstrap.servers": target.bootstrap_servers, "group.id": "half-read"})
    (place,) = consumer.committed([TopicPartition(TOPIC, 0)], TIMEOUT_S)
    consumer.close()
    assert place.metadata == "noted"
