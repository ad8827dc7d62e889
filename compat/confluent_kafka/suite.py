"""confluent-kafka's own integration tests of its schema registry client and its serializers."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.outcomes import Outcome
from lib.pytest_lines import outcomes_of
from lib.registry import schema_registry
from lib.suite import fetch, run_command


class ConfluentKafka:
    """The tests in `tests/integration/schema_registry`, of both clients, and with a broker."""

    client = "confluent-kafka 2.15.0"
    of_registry = True
    settings: Mapping[str, str] = MappingProxyType({})

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        fetch(Path(__file__).parent, cache)
        command = [str(cache / "venv/bin/python"), "-m", "pytest", "-v", "-p", "no:randomly"]
        command += ["--timeout", "120", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto"]
        command += list(selection) or ["tests/integration/schema_registry"]
        with schema_registry(bootstrap_servers, cache) as url:
            # The second pair is for a test that expects an answer of an old registry.
            env = os.environ | {"BROKERS": bootstrap_servers, "SR_URL": url, "PYTHONPATH": "."}
            env |= {"BROKERS_7_0_1": bootstrap_servers, "SR_URL_7_0_1": url}
            source, log = cache / "source", cache / "log.txt"
            output = run_command(command, cwd=source, log=log, timeout_s=900, env=env)
        return outcomes_of(output)


SUITE = ConfluentKafka()
