"""The tests of Quix Streams that use Kafka, without those of other services."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.outcomes import Outcome
from lib.pytest_lines import outcomes_of
from lib.suite import fetch, run_command

TESTS = (
    "test_app.py test_checkpointing.py test_internal_consumer test_internal_producer.py test_kafka "
    "test_models/test_topics test_sources/test_core/test_kafka.py test_state/test_recovery "
    "test_state/test_manager.py"
)
"""Those that use the fixture of the container."""


class QuixStreams:
    """The tests of its repository that talk to a broker."""

    client = "Quix Streams 3.25.0"
    project = True
    settings: Mapping[str, str] = MappingProxyType({})

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        del bootstrap_servers  # The tests start their broker through the drop-in.
        fetch(Path(__file__).parent, cache)
        command = [str(cache / "venv/bin/python"), "-m", "pytest", "-v", "-p", "no:randomly"]
        command += ["-p", "no:cacheprovider", "--timeout", "180", "-o", "log_cli=false"]
        command += selection or [f"tests/test_quixstreams/{name}" for name in TESTS.split()]
        output = run_command(
            command, cwd=cache, log=cache / "log.txt", timeout_s=7200, env=dict(os.environ)
        )
        return outcomes_of(output)


SUITE = QuixStreams()
