"""Gives Karapace's tests a registry that runs already: fixtures, and its HTTP client.

The tests import its server for a few names only. This plugin of pytest takes these out of its
source, so that the server's packages are not needed.
"""

import ast
import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from pathlib import Path
from types import ModuleType, SimpleNamespace
from urllib.parse import quote, urlsplit

import confluent_kafka
import pytest
from jsonschema import Draft7Validator

sys.path[:0] = [str(Path.cwd()), str(Path.cwd() / "src")]
URL = os.environ["REGISTRY_URL"]


@dataclass(frozen=True)
class Endpoint:
    """The address of a registry."""

    protocol: str
    host: str
    port: int

    def to_url(self) -> str:
        return f"{self.protocol}://{self.host}:{self.port}"


def provide(name: str, **attributes: object) -> None:
    module = ModuleType(name)
    vars(module).update(attributes)
    sys.modules[name] = module


def taken(file: str, name: str) -> object:
    """Return a class or function of a file that is not imported as a whole."""
    tree = ast.parse(Path("src/karapace", file).read_text())
    (found,) = (part for part in tree.body if getattr(part, "name", None) == name)
    space = {"Enum": Enum, "HTTPStatus": HTTPStatus, "unique": lambda made: made}
    exec(compile(ast.Module([found], []), file, "exec"), space)  # noqa: S102 - their source
    return space[name]


class Producer:
    """Its producer, as far as the tests use it."""

    def __init__(self, bootstrap_servers: list[str]) -> None:
        self._producer = confluent_kafka.Producer(
            {"bootstrap.servers": ",".join(bootstrap_servers), "log_level": 0}
        )

    def send(self, topic: str, *, key: bytes, value: bytes | None) -> None:
        self._producer.produce(topic, key=key, value=value)

    def flush(self) -> None:
        assert self._producer.flush(60) == 0


def not_started(*arguments: object, **options: object) -> None:
    pytest.skip("starts Karapace itself")


provide("karapace.api", __path__=[])
provide(
    "karapace.api.controller",
    SchemaErrorMessages=taken("api/routers/errors.py", "SchemaErrorMessages"),
)
provide("karapace.rapu", is_success=taken("rapu.py", "is_success"))
provide("karapace.core.config", Config=SimpleNamespace)
provide("karapace.core.kafka", __path__=[])
provide("karapace.core.kafka.admin", KafkaAdminClient=SimpleNamespace)
provide("karapace.core.kafka.producer", KafkaProducer=Producer)
cluster = {"RegistryDescription": SimpleNamespace, "RegistryEndpoint": Endpoint}
cluster |= {"start_schema_registry_cluster": not_started, "after_master_is_available": not_started}
provide("tests.integration.utils.cluster", **cluster)
provide("tests.integration.utils.kafka_server", KafkaServers=SimpleNamespace)

from karapace.core.client import Client  # noqa: E402
from karapace.core.schema_type import SchemaType  # noqa: E402

provide("karapace.core.schema_reader", SchemaType=SchemaType)
provide(
    "karapace.core.schema_models",
    parse_jsonschema_definition=lambda text: Draft7Validator(json.loads(text)),
)


@pytest.fixture
def kafka_servers() -> SimpleNamespace:
    return SimpleNamespace(bootstrap_servers=[os.environ["BOOTSTRAP_SERVERS"]])


@pytest.fixture
def session_logdir(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def registry_cluster() -> SimpleNamespace:
    parts = urlsplit(URL)
    endpoint = Endpoint(parts.scheme, str(parts.hostname), int(parts.port or 80))
    return SimpleNamespace(endpoint=endpoint, schemas_topic="_schemas")


@pytest.fixture
async def registry_async_client(
    loop: asyncio.AbstractEventLoop, registry_cluster: SimpleNamespace
) -> AsyncIterator[Client]:
    client = Client(server_uri=registry_cluster.endpoint.to_url())
    # Each test expects a registry of its own.
    await empty(client)
    await client.put_config(json={"compatibility": "BACKWARD"})
    yield client
    await client.close()


async def empty(client: Client) -> None:
    """Delete all subjects: those that others refer to in a later round."""
    while subjects := (await client.get("subjects?deleted=true")).json():
        for subject in subjects:
            path = f"subjects/{quote(subject, safe='')}"
            await client.delete(path)
            await client.delete(f"{path}?permanent=true")
