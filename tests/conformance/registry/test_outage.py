"""A broker that is away for a while ends no registry."""

import subprocess
import sys
from typing import Final

from duolog.testing.cluster import EmbeddedCluster

PROGRAM: Final = """
import sys
from duolog.registry.election.leaders import Leaders
from duolog.registry.store.clients import KafkaOptions

leaders = Leaders(KafkaOptions(sys.argv[1]))
print(leaders.url(), flush=True)
sys.stdin.readline()
print(leaders.url(), flush=True)
"""


def test_a_question_that_timed_out_does_not_abort_the_process_when_the_broker_is_back() -> None:
    """librdkafka ended it with the assertion `eonce->refcnt > 0`."""
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        servers = cluster.bootstrap_servers
        cluster.kill()
        with subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM, servers],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as asking:
            assert asking.stdout is not None
            first = asking.stdout.readline()
            cluster.restart()
            second, _ = asking.communicate("again\n", timeout=120)

    assert (first, second, asking.returncode) == ("None\n", "None\n", 0)
