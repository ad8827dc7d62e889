"""aiokafka's own tests of SASL and of missing rights."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.outcomes import Outcome
from lib.pytest_lines import outcomes_of
from lib.suite import fetch, run_command
from lib.users import add_users

VERSION = "kafka:2.13_4.1.2"
"""How the tests are told which version of Kafka they talk to."""


class AioKafkaSasl:
    """The tests of SASL of its repository."""

    client = "aiokafka 0.14.0"
    settings: Mapping[str, str] = MappingProxyType({"num.partitions": "2"})
    secured = True

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        fetch(Path(__file__).parent, cache)
        add_users({"test": "test", "test2": "test2"})
        env = os.environ | {"KAFKA_ADDRESS": bootstrap_servers, "PYTHONPATH": str(cache / "site")}
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:randomly", "--timeout", "120"]
        command += ["-p", "no:cacheprovider", "-p", "pytest_asyncio", "-p", "pytest_mock"]
        command += ["--docker-image", VERSION, *(selection or ["tests/test_sasl.py"])]
        output = run_command(command, cwd=cache, log=cache / "log.txt", timeout_s=900, env=env)
        return outcomes_of(output)


SUITE = AioKafkaSasl()
