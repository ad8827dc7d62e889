"""kafka-python's own integration tests: producer, transactions, consumer groups, admin."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.outcomes import Outcome
from lib.pytest_lines import outcomes_of
from lib.suite import fetch, run_command


class KafkaPython:
    """The integration tests of its source archive."""

    client = "kafka-python 3.0.12"
    settings: Mapping[str, str] = MappingProxyType(
        {"num.partitions": "4", "group.min.session.timeout.ms": "1000"}
    )

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        fetch(Path(__file__).parent, cache)
        scratch = cache / "scratch"
        scratch.mkdir(exist_ok=True)
        env = os.environ | {
            "KAFKA_ROOT": str(scratch),
            "KAFKA_URI": f"kafka://{bootstrap_servers}",
            "KAFKA_VERSION": "4.1",
            "PYTHONPATH": ".",
        }
        command = [sys.executable, "-m", "pytest", "test/integration", "-v", "-p", "no:randomly"]
        command += ["--timeout", "60", "-p", "no:cacheprovider", *selection]
        log = cache / "log.txt"
        output = run_command(command, cwd=cache / "source", log=log, timeout_s=900, env=env)
        return outcomes_of(output)


SUITE = KafkaPython()
