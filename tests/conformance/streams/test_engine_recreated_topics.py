"""Recreate source topics during a query and between starts, and delete other topics."""

import json
import shutil
import time
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from duolog import Topology
from duolog.engine.errors import (
    ChangelogLost,
    ChangelogMismatch,
    QueryFailed,
    ResultTopicRecreated,
    SourceTopicRecreated,
)
from duolog.runtime.application import Application
from duolog.testing import Client, EmbeddedCluster

pytestmark = pytest.mark.spark

WAIT_S = 60


def test_recreated_source_topic_fails_the_query_and_the_next_start(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Regression: first records were skipped; a deleted topic was recreated by a client."""
    assert spark is not None, "the engine finds the session of this run"
    topology = Topology("visits")
    topology.stream("visits", key="page STRING", value="ms BIGINT").group_by_key().count().to("out")
    with EmbeddedCluster(tmp_path / "broker") as cluster:
        client, admin = (
            Client(cluster.bootstrap_servers),
            AdminClient({"bootstrap.servers": cluster.bootstrap_servers}),
        )
        client.create_topic("visits", partitions=2)
        client.produce("visits", "home", '{"ms": 1}')
        application = Application(
            topology,
            bootstrap_servers=cluster.bootstrap_servers,
            data_dir=tmp_path,
            mode="micro-batch",
        )
        with application:
            query = application.start()
            assert query.wait_until_caught_up(WAIT_S)

            admin.delete_topics(["visits"])["visits"].result(WAIT_S)
            time.sleep(2)
            assert "visits" not in admin.list_topics().topics
            client.create_topic("visits", partitions=2)
            for number in range(5):
                client.produce("visits", "home", f'{{"ms": {number}}}')
            with pytest.raises(QueryFailed):
                query.wait(WAIT_S)

            with pytest.raises(SourceTopicRecreated, match="was deleted and created again"):
                application.start()


def test_deleted_result_topic_is_not_silently_recreated(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Regression: it was recreated without compaction, with the default partition count."""
    assert spark is not None, "the engine finds the session of this run"
    topology = Topology("visited")
    topology.stream("visits", key="page STRING", value="ms BIGINT").group_by_key().count().to("out")
    with EmbeddedCluster(tmp_path / "broker") as cluster:
        client, admin = (
            Client(cluster.bootstrap_servers),
            AdminClient({"bootstrap.servers": cluster.bootstrap_servers}),
        )
        client.create_topic("visits", partitions=2)
        client.produce("visits", "home", '{"ms": 1}')
        application = Application(
            topology,
            bootstrap_servers=cluster.bootstrap_servers,
            data_dir=tmp_path,
            mode="micro-batch",
        )
        with application:
            query = application.start()
            assert query.wait_until_caught_up(WAIT_S)

            admin.delete_topics(["out"])["out"].result(WAIT_S)
            client.produce("visits", "home", '{"ms": 2}')
            with pytest.raises(ResultTopicRecreated, match='"out" was deleted and created again'):
                query.wait(WAIT_S)

            admin.delete_topics(["out"])["out"].result(WAIT_S)
            client.produce("visits", "home", '{"ms": 3}')
            assert application.start().wait_until_caught_up(WAIT_S)
            assert len(admin.list_topics().topics["out"].partitions) == 2


@pytest.mark.deep
def test_deleted_changelog_is_not_silently_recreated(spark: SparkSession, tmp_path: Path) -> None:
    """Regression: it was recreated with later changes only, and so were restored stores."""
    assert spark is not None, "the engine finds the session of this run"
    topology = Topology("kept")
    topology.stream("visits", key="page STRING", value="ms BIGINT").group_by_key().count(
        "visits"
    ).to("out")
    changelog = "kept-aggregate-3-store-changelog"
    with EmbeddedCluster(tmp_path / "broker") as cluster:
        client = Client(cluster.bootstrap_servers)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        client.create_topic("visits", partitions=2)
        for page in ("home", "news", "home"):
            client.produce("visits", page, '{"ms": 1}')
        application = Application(
            topology,
            bootstrap_servers=cluster.bootstrap_servers,
            data_dir=tmp_path,
            mode="micro-batch",
            settings={"state.changelog": "on"},
        )
        with application:
            query = application.start()
            assert query.wait_until_caught_up(WAIT_S)

            admin.delete_topics([changelog])[changelog].result(WAIT_S)
            # Of task 0: the other task's partition is not recreated, and its records
            # stay buffered.
            client.produce("visits", "home", '{"ms": 2}')
            with pytest.raises(ChangelogLost, match=f'"{changelog}" was deleted and created again'):
                query.wait(WAIT_S)
            with pytest.raises(ChangelogMismatch, match=f'"{changelog}" of .* created again'):
                application.start()

            # The remedy in both messages: write the whole checkpoint to a new changelog.
            application.repartition(2)
            client.produce("visits", "news", '{"ms": 3}')
            assert application.start().wait_until_caught_up(WAIT_S)
            application.stop()
            shutil.rmtree(application.checkpoint_dir)
            client.produce("visits", "news", '{"ms": 4}')
            assert application.start().wait_until_caught_up(WAIT_S)
            application.stop()

            reported = {
                row.key_text: json.loads(row.value or b"")["visits"] for row in client.read("out")
            }
            assert reported == {"home": 3, "news": 3}
