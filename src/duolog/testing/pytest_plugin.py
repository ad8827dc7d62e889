"""Fixtures for tests of Kafka programs. pytest loads them by itself when Duolog is installed.

    duolog_broker            a LocalBroker for the session, started by its first use
    bootstrap_servers        its HOST:PORT
    kafka_url                its kafka://HOST:PORT
    schema_registry_url      the URL of a schema registry of this broker, started by its first use
    topic                    the name of a new topic, deleted after the test
    new_topic                a function that creates further topics, deleted after the test
    producer                 a confluent_kafka.Producer
    consumer                 a confluent_kafka.Consumer in a group of its own, subscribed to `topic`

Override `duolog_broker_settings`, `producer_config` or `consumer_config` to change settings. The
marker `duolog_topic(partitions=…, configs=None)` changes the topic of a test.

Each process of pytest-xdist has a broker of its own, so that faults and time travel disturb no test
of another process, and no process waits for another one to start or stop a shared broker.

Before the fixtures of a test are torn down, the broker is healed: a fault never outlives its test.

This module imports nothing but pytest, and registers nothing that is called for each test until
`duolog_broker` is used.
"""

import re
import secrets
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer, TopicPartition

    from duolog.testing.local_broker.local_broker import LocalBroker

MARKER: Final = "duolog_topic"
_MARKER_ARGUMENTS: Final = frozenset({"partitions", "configs"})
_NAME_MAX: Final = 200
"""Kafka allows 249 characters; the rest is for suffixes such as ".dlq"."""
_FLUSH_S: Final = 10.0
_COMMITTED_S: Final = 1.0
_EARLIEST: Final = ("earliest", "beginning", "smallest")

_RECONNECT: Final = {"reconnect.backoff.ms": 1, "reconnect.backoff.max.ms": 100}
"""librdkafka waits half of the time before it opens its second connection, too."""

Config = dict[str, Any]
"""librdkafka's properties, among them functions."""
NewTopic = Callable[..., str]


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Keep pytest from rewriting the assertions of Duolog, which makes imports slow.

    pytest rewrites all modules of a distribution that contains a plugin.
    """
    hook = early_config.pluginmanager.rewrite_hook
    # Not public; without them, Duolog works but is loaded more slowly.
    getattr(hook, "_must_rewrite", set[str]()).discard("duolog")
    getattr(hook, "_marked_for_rewrite_cache", dict[str, bool]()).clear()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}(partitions, configs=None): partitions and configs of the fixture topic",
    )


class _Healing:
    """Ends the faults of each test."""

    def __init__(self, broker: "LocalBroker") -> None:
        self._broker = broker

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, object, object]:
        """Heal the broker, then tear down the fixtures, even if the broker cannot be healed."""
        try:
            self._broker.heal()
        finally:
            result = yield
        return result


@pytest.fixture(scope="session")
def duolog_broker_settings() -> Mapping[str, str]:
    """Settings of the broker by name, as texts. Override it to change them."""
    return {}


@pytest.fixture(scope="session")
def duolog_broker(
    duolog_broker_settings: Mapping[str, str], request: pytest.FixtureRequest
) -> "Iterator[LocalBroker]":
    """A broker for the session, with faults on demand."""
    from duolog.testing.local_broker.local_broker import LocalBroker  # noqa: PLC0415

    with LocalBroker(duolog_broker_settings) as broker:
        plugins = request.config.pluginmanager
        healing = _Healing(broker)
        plugins.register(healing)
        yield broker
        plugins.unregister(healing)


@pytest.fixture(scope="session")
def bootstrap_servers(duolog_broker: "LocalBroker") -> str:
    """The address of the broker, HOST:PORT."""
    return duolog_broker.bootstrap_servers


@pytest.fixture(scope="session")
def kafka_url(duolog_broker: "LocalBroker") -> str:
    """The address of the broker as a URL, kafka://HOST:PORT."""
    return duolog_broker.url


@pytest.fixture(scope="session")
def schema_registry_url(
    duolog_broker: "LocalBroker", tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The URL of a schema registry that stores its schemas in the broker.

    It runs for the session. Subjects of the fixture `topic` are new in each test.
    """
    from duolog.runtime.registry_process import RegistryProcess  # noqa: PLC0415

    log = tmp_path_factory.mktemp("schema-registry") / "registry.log"
    with RegistryProcess(duolog_broker.bootstrap_servers, log_path=log) as registry:
        yield registry.url


@pytest.fixture
def new_topic(duolog_broker: "LocalBroker", request: pytest.FixtureRequest) -> Iterator[NewTopic]:
    """A function that creates a topic and returns its name.

    Its arguments are a suffix for the name, such as ".dlq", `partitions` (by default the broker's
    `num.partitions`) and `configs=None`.
    """
    stem = f"{_topic_name(request.node.name)}-{secrets.token_hex(3)}"
    created: list[str] = []

    def create(
        suffix: str = "", partitions: int = -1, configs: Mapping[str, str] | None = None
    ) -> str:
        name = f"{stem}{suffix}"
        duolog_broker.create_topic(name, partitions, configs)
        created.append(name)
        return name

    yield create
    if created:
        duolog_broker.delete_topics(*created)


@pytest.fixture
def topic(new_topic: NewTopic, request: pytest.FixtureRequest) -> str:
    """The name of a new topic, which begins with the name of the test."""
    marker = request.node.get_closest_marker(MARKER)
    if marker is None:
        return new_topic()
    if len(marker.args) > len(_MARKER_ARGUMENTS) or not marker.kwargs.keys() <= _MARKER_ARGUMENTS:
        given = ", ".join(
            [*map(repr, marker.args), *(f"{n}={v!r}" for n, v in marker.kwargs.items())]
        )
        raise pytest.UsageError(
            f"the marker {MARKER} takes partitions and configs, not ({given}): "
            f"{request.node.nodeid}"
        )
    return new_topic("", *marker.args, **marker.kwargs)


@pytest.fixture
def producer_config(bootstrap_servers: str) -> Config:
    """Properties of the fixture `producer`."""
    return {"bootstrap.servers": bootstrap_servers, "linger.ms": 0, **_RECONNECT}


@pytest.fixture
def producer(producer_config: Config) -> "Iterator[Producer]":
    """A producer, flushed after the test."""
    from confluent_kafka import Producer  # noqa: PLC0415

    made = Producer(producer_config)
    yield made
    made.flush(_FLUSH_S)


@pytest.fixture
def consumer_config(bootstrap_servers: str, topic: str) -> Config:
    """Properties of the fixture `consumer`: the group has the name of the topic."""
    return {
        "bootstrap.servers": bootstrap_servers,
        "group.id": topic,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        **_RECONNECT,
    }


@pytest.fixture
def consumer(consumer_config: Config, topic: str) -> "Iterator[Consumer]":
    """A consumer that is subscribed to `topic` and reads it from its start."""
    from confluent_kafka import Consumer  # noqa: PLC0415

    made = Consumer(consumer_config)
    if consumer_config.get("auto.offset.reset") in _EARLIEST:
        made.subscribe([topic], on_assign=_from_the_start(consumer_config))
    else:
        made.subscribe([topic])
    yield made
    made.close()


def _from_the_start(config: Config) -> "Callable[[Consumer, list[TopicPartition]], None]":
    """Return a callback that starts partitions without a committed offset at offset 0.

    librdkafka itself waits for 100 ms before it asks for the first offset of a partition. If the
    record at offset 0 has been deleted, it asks for the first offset after all.
    """
    cooperative = config.get("group.protocol") == "consumer" or "cooperative" in str(
        config.get("partition.assignment.strategy", "")
    )

    def on_assign(consumer: "Consumer", partitions: "list[TopicPartition]") -> None:
        from confluent_kafka import KafkaException  # noqa: PLC0415

        try:
            partitions = consumer.committed(partitions, _COMMITTED_S)
        except KafkaException:  # The test has paused the broker, for example.
            return
        for partition in partitions:
            partition.offset = max(partition.offset, 0)
        assign = consumer.incremental_assign if cooperative else consumer.assign
        assign(partitions)

    return on_assign


def _topic_name(test: str) -> str:
    """Return a topic name for the name of a test.

    Example:
        >>> _topic_name("test_totals[a/b-1]")
        'test_totals-a-b-1'
    """
    return re.sub(r"[^A-Za-z0-9._]+", "-", test).strip("-")[:_NAME_MAX]
