"""List and create topics of a broker. Does not import plans, which take a while to load."""

from concurrent.futures import Future
from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.core.errors import KafkaError
from duolog.runtime.errors import BrokerUnavailable
from duolog.security.clients.brokers import Brokers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confluent_kafka.admin import TopicMetadata

_TIMEOUT_S: Final = 15.0
_ALREADY_EXISTS: Final = 36
TABLE_CONFIG: Final = {"cleanup.policy": "compact"}


def admin_of(bootstrap_servers: Brokers | str) -> AdminClient:
    return AdminClient(Brokers.of(bootstrap_servers).client({"log_level": 0}))


def partition_counts(admin: AdminClient, bootstrap_servers: Brokers | str) -> dict[str, int]:
    """Return the existing topics with their numbers of partitions.

    Raises:
        BrokerUnavailable: no broker answers.
    """
    topics = metadata(admin, bootstrap_servers)
    return {name: len(topic.partitions) for name, topic in topics.items()}


def metadata(admin: AdminClient, bootstrap_servers: Brokers | str) -> "Mapping[str, TopicMetadata]":
    """Return the existing topics with their partitions; raises as `partition_counts`."""
    try:
        found: Mapping[str, TopicMetadata] = admin.list_topics(timeout=_TIMEOUT_S).topics
    except KafkaException as error:
        raise BrokerUnavailable(
            f"no broker answers at {bootstrap_servers}",
            detail=str(error.args[0]),
            hint="Start one with `duolog broker`.",
        ) from error
    return found


def create(admin: AdminClient, wanted: list[NewTopic]) -> None:
    """Create topics; a topic that already exists is not an error.

    Raises:
        KafkaError: the broker refuses one.
    """
    if not wanted:
        return
    try:
        started = admin.create_topics(wanted)
    except ValueError as error:  # Of the client: a number is out of its range.
        raise KafkaError(
            f'could not create topic "{wanted[0].topic}"',
            code=ClientError.INVALID_PARTITIONS,
            detail=str(error),
        ) from error
    for name, future in started.items():
        _wait(name, future)


def _wait(name: str, future: Future[None]) -> None:
    try:
        future.result(_TIMEOUT_S)
    except (KafkaException, TimeoutError) as error:
        refusal = client_error(error)
        if refusal.code() != _ALREADY_EXISTS:
            raise KafkaError(
                f'could not create topic "{name}"', code=refusal.code(), detail=refusal.str()
            ) from error


def client_error(error: KafkaException | TimeoutError) -> ClientError:
    """Return the client's error; a request timeout for a broker that is unreachable."""
    if isinstance(error, KafkaException):
        found: ClientError = error.args[0]
        return found
    return ClientError(ClientError.REQUEST_TIMED_OUT)
