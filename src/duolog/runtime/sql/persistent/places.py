"""Places: what servers divide among themselves, and which queries each place has.

    query ─▶ its number ─▶ one of 64 places ─▶ the server to which the place is assigned

A place is a partition of the topic `_duolog-ksql-<service id>_query_places`, which has no records:
the consumer group of the servers assigns its partitions. A query's number is the smallest one that
no other query had when its statement was accepted, so all servers compute the same one
(`command_log/replayed_catalog.py`).

The assignor gives each server runs of adjacent partitions: with place = number, 20 queries would
all be on one of two servers. Steps of 41 places, about 64 divided by the golden ratio, spread any
first numbers over all runs, and also over even and odd places.
"""

from typing import Final

from confluent_kafka.admin import NewTopic

from duolog.core.errors import KafkaError
from duolog.runtime.topics import TABLE_CONFIG, admin_of, create, partition_counts
from duolog.security.clients.brokers import Brokers

PLACES: Final = 64
ALL_PLACES: Final = frozenset(range(PLACES))
_STEP: Final = 41
_INVALID_PARTITIONS: Final = 37


def place_of(number: int) -> int:
    """Return the place of the query with a number.

    Example:
        >>> [place_of(number) for number in range(5)]
        [0, 41, 18, 59, 36]
    """
    return number * _STEP % PLACES


def places_topic_of(service_id: str) -> str:
    """Return the topic whose partitions are a service's places.

    Example:
        >>> places_topic_of("flights")
        '_duolog-ksql-flights_query_places'
    """
    return f"_duolog-ksql-{service_id}_query_places"


def make_places(bootstrap: Brokers | str, service_id: str) -> None:
    """Create the topic of a service's places unless it exists.

    Raises:
        KafkaError: the broker does not answer, or refuses; or the topic has another number of
            partitions.
        BrokerUnavailable: no broker answers.
    """
    name, admin = places_topic_of(service_id), admin_of(bootstrap)
    create(admin, [NewTopic(name, PLACES, config=dict(TABLE_CONFIG))])
    there = partition_counts(admin, bootstrap).get(name, PLACES)
    if there != PLACES:
        raise KafkaError(
            f'topic "{name}" has {there} partitions instead of {PLACES}',
            code=_INVALID_PARTITIONS,
            detail="Servers divide the persistent queries of a service by its partitions.",
            hint="Stop all servers of the service, delete the topic, which has no records, and "
            "start them again.",
        )
