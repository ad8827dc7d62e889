"""Plan a restore from the state of a broker, without a JVM and without changes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from duolog import Topology, count, sum_
from duolog.engine import Engine, EngineConfig
from duolog.engine.changelog.commit_topic import Committed
from duolog.engine.changelog.logged_state import LoggedState
from duolog.engine.checkpoint.checkpoint import Checkpoint, StartFacts
from duolog.engine.lowering.stores.store_layouts import shape_of
from duolog.engine.lowering.stores.store_names import Names
from duolog.engine.restore_plan import RestorePlan, restore_plan
from duolog.engine.topics.topic_reader import TopicReader
from duolog.plan.cutting.levels import find_levels
from duolog.plan.nodes import Plan
from duolog.testing import Client, EmbeddedCluster

pytestmark = pytest.mark.timeout(60)

TASKS: Final = 2


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as started:
        yield started


class Kept:
    """The topics of an application with a count after one commit; its checkpoint is lost."""

    def __init__(self, cluster: EmbeddedCluster, directory: Path, name: str) -> None:
        self.name, servers = name, cluster.bootstrap_servers
        self.client, self.topics = Client(servers), TopicReader(servers, {})
        self.admin = AdminClient({"bootstrap.servers": servers})
        self.visits = f"visits-{name}"
        self.changelog = f"{name}-aggregate-3-store-changelog"
        self.client.create_topic(self.visits, partitions=TASKS)
        self.engine = Engine(EngineConfig(servers, directory, changelog="on"))
        levels = find_levels(self.plan(), TASKS)
        spec = self.engine.spec(levels, name)
        checkpoint = Checkpoint(directory / name)
        shape, ids = shape_of(spec, Names.of(levels)), self.topics.topic_ids([self.visits])
        checkpoint.pin(
            name, StartFacts(shape, {"duolog": "1", "pyspark": "4"}, ids, changelog=True)
        )
        state = LoggedState(self.engine.config, self.topics, checkpoint, name)
        state.begin(spec, is_restored=False)
        offsets = f'v1\n{{}}\n{{"{self.visits}":{{"0":3,"1":0}}}}'
        state.commits.write_start(Committed(1, -1, [], offsets, 4, "q", 0))

    def plan(self, *, another: bool = False) -> Plan:
        made = Topology(self.name)
        visits = made.stream(self.visits, key="page STRING", value="n BIGINT").group_by_key()
        kept = visits.aggregate(t=sum_("n")) if another else visits.aggregate(c=count())
        kept.to("out")
        return made.build()

    def restore_plan(self, plan: Plan | None = None) -> RestorePlan:
        kept = self.engine.what_is_kept(self.name)
        assert kept is not None
        return restore_plan(self.engine, plan or self.plan(), self.name, kept)

    def delete(self, topic: str) -> None:
        self.admin.delete_topics([topic])[topic].result(60)


def test_plan_lists_stores_entries_and_positions(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    kept = Kept(cluster, tmp_path, "fits")
    for page in ("home", "news", "home"):
        kept.client.produce(kept.changelog, page, "row")

    found = kept.restore_plan()

    assert found.changelogs == {"aggregate-3-store": kept.changelog}
    assert found.entries == {kept.changelog: 3}
    assert found.positions == {kept.visits: {0: 3, 1: 0}}
    assert found.problems == []


def test_missing_topics_are_reported_and_not_created(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    kept = Kept(cluster, tmp_path, "lacks")
    kept.delete(kept.changelog)
    kept.delete(kept.visits)

    found = kept.restore_plan()

    assert found.entries == {}
    assert found.problems == [
        f'Changelog "{kept.changelog}" is missing.',
        f'Source topic "{kept.visits}" is missing.',
    ]
    assert not kept.topics.existing_partition_counts([kept.changelog, kept.visits])


def test_recreated_topics_and_lossy_settings_are_reported(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    kept = Kept(cluster, tmp_path, "other")
    for topic in (kept.changelog, kept.visits):
        kept.delete(topic)
        kept.client.create_topic(topic, partitions=TASKS)

    problems = kept.restore_plan().problems

    assert [problem.partition(":")[0] for problem in problems] == [
        f'Changelog "{kept.changelog}" was deleted and created again',
        f'Changelog "{kept.changelog}" has cleanup.policy=delete',
        f'Source topic "{kept.visits}" was deleted and created again',
    ]


def test_other_topology_and_records_lost_to_retention_are_reported(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    kept = Kept(cluster, tmp_path, "later")
    for number in range(20):
        kept.client.produce(kept.visits, f"page-{number}", '{"n": 1}')
    erased: Any = kept.admin.delete_records([TopicPartition(kept.visits, 1, 2)])
    for done in erased.values():
        done.result(60)

    problems = kept.restore_plan(kept.plan(another=True)).problems

    assert problems[0].startswith("The changelogs belong to another topology. The aggregate of")
    assert problems[1:] == [
        f'Source topic "{kept.visits}" has lost records to retention: partition 1 begins at 2, but reading must continue at 0.'
    ]
