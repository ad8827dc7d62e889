"""The own tests of @kafkajs/confluent-schema-registry that talk to a registry."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.jest import run_jest
from lib.outcomes import Outcome
from lib.registry import schema_registry
from lib.suite import fetch


class KafkaJsRegistry:
    """The tests next to `SchemaRegistry.ts`: Avro, JSON Schema, Protobuf."""

    client = "@kafkajs/confluent-schema-registry 3.9.0"
    of_registry = True
    settings: Mapping[str, str] = MappingProxyType({})

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        fetch(Path(__file__).parent, cache)
        with schema_registry(bootstrap_servers, cache) as url:
            env = {"REGISTRY_URL": url}
            return run_jest(cache / "package", selection, log=cache / "log.txt", env=env)


SUITE = KafkaJsRegistry()
