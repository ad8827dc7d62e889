"""A start that is stopped at once does not prevent the next start."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from duolog import Application, Topology
from duolog.testing import Client, EmbeddedCluster


@pytest.mark.spark
def test_application_stopped_while_planning_can_be_restarted(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Regression: Spark refused the checkpoint with `offsets should be empty on batch 0`."""
    assert spark is not None, "the engine finds the session of this run"
    topology = Topology("early")
    visits = topology.stream("visits", key="name STRING", value="place STRING")
    visits.group_by_key().count("visits").to("counts")
    for name in ("offsets/.0.4c2f9a.tmp", "state/0/.0.4c2f9a.tmp"):
        left = tmp_path / "checkpoints" / "early" / "spark" / name
        left.parent.mkdir(parents=True)
        left.write_text("v1\n")

    with EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("visits")
        client.produce("visits", "bob", '{"place": "park"}')
        servers = cluster.bootstrap_servers
        with Application(topology, bootstrap_servers=servers, data_dir=tmp_path) as application:
            assert application.start().wait_until_caught_up(120)
        assert client.read("counts")[-1].value_text == '{"visits":1}'
