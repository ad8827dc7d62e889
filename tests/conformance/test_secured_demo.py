"""The demo on a secured broker: TLS, a login, and the rights of its application and its data.

The application has exactly the rights that `duolog run --print-acls` lists for the demo's topology.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from conformance.secured_broker import SecuredBroker
from duolog.cli.demo.topics import FLIGHTS, GROUP, RESULTS, TABLES

pytestmark = [pytest.mark.spark, pytest.mark.timeout(540)]

USER: Final = "pilot"
PASSWORD: Final = "planted-9Kd2-password"  # noqa: S105 - planted, to be looked for
TOPOLOGY: Final = """
from duolog.cli.demo.topology import flights_topology

topology = flights_topology()
"""


def duolog(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "duolog", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def allow(broker: SecuredBroker, printed: str) -> None:
    """Give the rights of the application, and those of who writes its data and reads its tables."""
    principal = f"User:{USER}"
    broker.allow_printed(printed)
    for topic in (FLIGHTS, *TABLES):
        operations = (AclOperation.CREATE, AclOperation.WRITE, AclOperation.DESCRIBE)
        broker.allow(principal, ResourceType.TOPIC, topic, *operations)
    for topic in RESULTS:
        broker.allow(principal, ResourceType.TOPIC, topic, AclOperation.READ)
    broker.allow(principal, ResourceType.GROUP, GROUP, AclOperation.READ)


def test_the_demos_tables_equal_the_batch_with_everything_on(tmp_path: Path) -> None:
    file = tmp_path / "flights.py"
    file.write_text(TOPOLOGY)
    with SecuredBroker(tmp_path / "secured") as broker:
        properties = broker.write_properties(tmp_path / "client.properties", USER, PASSWORD)
        options = ("-b", broker.bootstrap_servers, "--client-properties", str(properties))
        broker.add_user(USER, PASSWORD)
        printed = duolog("run", str(file), *options, "--print-acls", f"User:{USER}")
        assert printed.returncode == 0, printed.stderr
        allow(broker, printed.stdout)

        data = tmp_path / "data"
        done = duolog("demo", *options, "--data", str(data), "--limit", "3000", "--json")

        log = broker.log_path.read_text()
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result["events"], result["matches_batch"]) == (3000, True)
    texts = [done.stdout, done.stderr, log]
    texts += [path.read_text(errors="replace") for path in data.rglob("*") if path.is_file()]
    assert not any(PASSWORD in text for text in texts)
