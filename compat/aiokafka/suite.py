"""aiokafka's own tests: the oldest versions of each API, groups, transactions, patterns."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.outcomes import Outcome
from lib.pytest_lines import outcomes_of
from lib.suite import fetch, run_command

VERSION = "kafka:2.13_4.1.2"
"""How the tests are told which version of Kafka they talk to."""

TESTS = (
    "test_admin test_client test_conn test_consumer test_coordinator test_fetcher test_pep492 "
    "test_producer test_sender test_transactional_consumer test_transactional_producer"
)
"""Those that talk to a broker, without SASL."""


class AioKafka:
    """The functional tests of its repository."""

    client = "aiokafka 0.14.0"
    settings: Mapping[str, str] = MappingProxyType(
        {"num.partitions": "2", "group.min.session.timeout.ms": "1000"}
    )

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        fetch(Path(__file__).parent, cache)
        env = os.environ | {"KAFKA_ADDRESS": bootstrap_servers, "PYTHONPATH": str(cache / "site")}
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:randomly", "--timeout", "120"]
        command += [
            "-p",
            "no:cacheprovider",
            "-p",
            "pytest_asyncio",
            "-p",
            "pytest_mock",
            "--docker-image",
            VERSION,
        ]
        command += selection or [f"tests/{name}.py" for name in TESTS.split()]
        output = run_command(command, cwd=cache, log=cache / "log.txt", timeout_s=900, env=env)
        return outcomes_of(output)


SUITE = AioKafka()
