"""FastStream's own tests with Kafka, and the test with FastStream of our guide."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.outcomes import Outcome
from lib.pytest_lines import outcomes_of
from lib.suite import fetch, run_command

SELECTED = "connected and (kafka or confluent)"
GUIDE = "tests/test_orders_with_faststream.py"
"""The test of the guide page, which `fetch` takes from there."""


class FastStream:
    """The tests of its repository that talk to a broker."""

    client = "FastStream 0.7.4"
    project = True
    settings: Mapping[str, str] = MappingProxyType({})

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        del bootstrap_servers  # The tests start their broker through the drop-in.
        fetch(Path(__file__).parent, cache)
        command = [str(cache / "venv/bin/python"), "-m", "pytest", "-v", "-p", "no:randomly"]
        command += ["-p", "no:cacheprovider", "--timeout", "120", "-o", "addopts="]
        env = os.environ | {"PYTHONPATH": str(cache)}

        def outcomes(log: str, words: Sequence[str]) -> dict[str, Outcome]:
            printed = run_command(
                [*command, *words], cwd=cache, log=cache / log, timeout_s=1800, env=env
            )
            return outcomes_of(printed)

        if selection:
            return outcomes("log.txt", selection)
        # Those modules also import the clients of other brokers.
        folders = ["--ignore-glob=*/test_misconfigure.py"]
        folders += ["tests/brokers/kafka", "tests/brokers/confluent"]
        return outcomes("log.txt", ["-m", SELECTED, *folders]) | outcomes("guide.txt", [GUIDE])


SUITE = FastStream()
