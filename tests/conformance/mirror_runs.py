"""Runs of `duolog mirror` in the process of a test, with actions at given points."""

from collections.abc import Callable

from confluent_kafka.admin import AdminClient

from conformance.mirrored import Ended, run_here
from duolog.cli.kafka.cluster import Cluster
from duolog.cli.mirror.session import Mirror, Options
from duolog.testing import Client

TOPIC = "orders"


def mirror(here: str, there: str, *words: str) -> Ended:
    return run_here("mirror", "-b", here, "--to", there, *words)


def write(servers: str, *values: str, topic: str = TOPIC) -> None:
    client = Client(servers)
    for value in values:
        client.produce(topic, "k", value)


def values(servers: str, topic: str = TOPIC) -> list[str | None]:
    return [record.value_text for record in Client(servers).read(topic)]


def admin(servers: str) -> AdminClient:
    """Return a client, to be kept until it has answered: its destruction drops responses."""
    return AdminClient({"bootstrap.servers": servers, "log_level": 0})


def with_actions(here: str, there: str, **actions: Callable[[], object]) -> Mirror:
    """Return a mirror that calls an action once, when it says something with that word."""

    def say(text: str) -> None:
        for word in [word for word in actions if word in text]:
            actions.pop(word)()

    return Mirror(Cluster(here, {}), Cluster(there, {}), Options(), say)
