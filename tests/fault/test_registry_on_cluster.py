"""Executors of a Spark cluster ask a registry that needs a user: the driver sends the user along."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

PROGRAM = """
import sys
from dataclasses import dataclass
from pathlib import Path

from duolog import Application, Topology, TypedSerde, col, sum_
from duolog.core.errors import DuologError
from duolog.registry.access.passwords import hash_password
from duolog.runtime.registry_process import RegistryProcess
from duolog.testing import Client, EmbeddedCluster

PASSWORD = "planted-3Zt8-password"

@dataclass
class Order:
    name: str
    n: int

Path("users.toml").write_text(f'''
[users.ann]
password = "{hash_password(PASSWORD)}"
read = ["*"]
write = ["*"]
''')

events = Path("data/events").resolve()
events.mkdir(parents=True)

def application(url, name):
    topology = Topology(name)
    orders = topology.stream("orders", key=str, value=Order, value_format="AVRO")
    orders.group_by(col("name")).aggregate(n=sum_(col("n"))).to(f"{name}-out")
    return Application(
        topology,
        bootstrap_servers=broker.bootstrap_servers,
        data_dir=Path("data"),
        mode="micro-batch",
        settings={
            "master": "local-cluster[2,2,1024]",
            "schema.registry.url": url,
            # Spark's event log has the properties of jobs, by which executors get the user.
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": events.as_uri(),
        },
    )

with (
    EmbeddedCluster(Path("broker")) as broker,
    RegistryProcess(broker.bootstrap_servers, arguments=["--users", "users.toml"]) as registry,
):
    host = registry.url.removeprefix("http://")
    serde = TypedSerde(Order, registry=f"http://ann:{PASSWORD}@{host}", topic="orders")
    client = Client(broker.bootstrap_servers)
    client.create_topic("orders", partitions=2)
    for n in range(6):
        client.produce("orders", f"k{n}", serde.serialize(Order(f"k{n % 2}", n)))
    with application(f"http://ann:{PASSWORD}@{host}", "sums") as running:
        query = running.start()
        assert query.wait_until_caught_up(240)
        print(sorted(running.table("sums-out").rows()))
    leaks = [
        str(path)
        for path in Path("data").rglob("*")
        if path.is_file() and PASSWORD.encode() in path.read_bytes()
    ]
    print(leaks, any(path.stat().st_size for path in events.rglob("*")))
    try:
        with application(f"http://ann:wrong@{host}", "refused") as refused:
            refused.start().wait_until_caught_up(240)
    except DuologError as error:
        print(error.one_line())
"""


def test_executors_ask_the_registry_as_the_users_of_the_driver(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=380,
    )

    assert done.returncode == 0, done.stderr[-4000:]
    rows, leaks, refused = done.stdout.splitlines()
    assert rows == "[('k0', 6), ('k1', 9)]"
    assert leaks == "[] True"
    assert "refuses the user" in refused or "error code 401" in refused
    assert "ksql.schema.registry.basic.auth.user.info" in refused
