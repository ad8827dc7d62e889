"""Metrics of quotas: what clients with a limit use, and their throttle times.

Names are those that the JMX exporter gives to Kafka's beans `type=Produce,user=…,client-id=…` and
so on. A label is empty if the limit is shared by all users, or by all client ids. There are lines
for the clients of the last seconds, up to a limit for each quota.
"""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from duolog.broker.metrics.text import Labels, family, single
from duolog.core.units import SECOND_MS

if TYPE_CHECKING:
    from duolog.broker.broker import Broker
    from duolog.broker.quotas.meters import MutationMeter, RateMeter

_CLIENTS_MAX: Final = 1000


def quota_lines(broker: "Broker") -> Iterator[str]:
    """Yield them as Prometheus text."""
    yield single(
        "kafka_server_socket_server_metrics_connection_creation_throttled_total",
        "counter",
        "Connections that were refused because of the quota of their address.",
        broker.connections.rates.throttled,
    )
    enforcement = broker.enforcement
    if enforcement is None:
        return
    now_ms = int(broker.clock.monotonic() * SECOND_MS)
    for bean, used, doc, meters in (
        ("produce", "byte_rate", "Bytes per second of produce requests.", enforcement.produce),
        ("fetch", "byte_rate", "Bytes per second of fetched records.", enforcement.fetch),
        (
            "request",
            "request_time",
            "Percentage of the time of the event loop.",
            enforcement.request,
        ),
    ):
        yield from _lines(bean, used, doc, list(islice(meters, _CLIENTS_MAX)), now_ms)
    mutations = list(islice(enforcement.mutation, _CLIENTS_MAX))
    bean = "controllermutation"
    yield from _lines(bean, "mutation_rate", "Partitions per second.", mutations, now_ms)
    yield from family(
        f"kafka_server_{bean}_tokens",
        "gauge",
        "Partitions that can be created or deleted now.",
        [(_labels(meter), meter.tokens(now_ms)) for meter in mutations],
    )


def _lines(
    bean: str,
    used: str,
    doc: str,
    meters: "list[RateMeter] | list[MutationMeter]",
    now_ms: int,
) -> Iterator[str]:
    name = f"kafka_server_{bean}_"
    yield from family(
        name + used,
        "gauge",
        doc,
        [(_labels(meter), meter.rate.measure(now_ms)) for meter in meters],
    )
    yield from family(
        name + "throttle_time",
        "gauge",
        "Average throttle time in milliseconds.",
        [(_labels(meter), meter.throttles.average_ms(now_ms)) for meter in meters],
    )
    yield from family(
        name + "throttled_total",
        "counter",
        "Responses with a throttle time, since the client's first request.",
        [(_labels(meter), meter.throttles.count) for meter in meters],
    )


def _labels(meter: "RateMeter | MutationMeter") -> "Labels":
    user, client_id = meter.clients
    return {"user": user or "", "client_id": client_id or ""}
