"""Karapace's own tests of the registry's HTTP interface."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.outcomes import Outcome
from lib.pytest_lines import outcomes_of
from lib.registry import schema_registry
from lib.suite import fetch, run_command

HERE = Path(__file__).parent
FILES = (
    "test_schema",
    "test_schema_avro_references",
    "test_schema_compatibility",
    "test_schema_protobuf",
    "test_schema_registry_mode",
    "test_dependencies_compatibility_protobuf",
    "test_jsonschema",
)


class Karapace:
    """The tests that talk to one registry: see `FILES`."""

    client = "Karapace 6.2.0"
    of_registry = True
    settings: Mapping[str, str] = MappingProxyType({})

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        fetch(HERE, cache)
        command = [str(cache / "venv/bin/python"), "-m", "pytest", "-v", "-p", "adapter"]
        command += ["-p", "aiohttp.pytest_plugin", "-p", "no:randomly", "-p", "no:asyncio"]
        command += ["--timeout", "60", "-p", "no:cacheprovider"]
        command += list(selection) or [f"tests/integration/{name}.py" for name in FILES]
        with schema_registry(bootstrap_servers, cache) as url:
            env = os.environ | {"PYTHONPATH": str(HERE), "BOOTSTRAP_SERVERS": bootstrap_servers}
            env |= {"REGISTRY_URL": url, "SERVER_URI": url}
            source, log = cache / "source", cache / "log.txt"
            output = run_command(command, cwd=source, log=log, timeout_s=900, env=env)
        return outcomes_of(output)


SUITE = Karapace()
