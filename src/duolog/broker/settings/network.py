"""Settings of listeners, connections and metrics, under Kafka's names if any."""

from typing import Final

from duolog.core.settings import Importance, Kind, Setting, at_least, one_of
from duolog.core.units import KIB, MIB, MINUTE_MS

_INT_MAX: Final = 2**31 - 1

LISTENER_ROWS: Final = (
    Setting(
        "listeners",
        default="",
        kind=Kind.STRING,
        doc="Where to take connections: NAME://HOST:PORT, separated by commas; as --listen.",
        importance=Importance.HIGH,
    ),
    Setting(
        "advertised.listeners",
        default="",
        kind=Kind.STRING,
        doc="What clients of each listener are told to connect to, where that is not the address "
        "that it listens on; as --advertise.",
        importance=Importance.HIGH,
    ),
    Setting(
        "listener.security.protocol.map",
        default="",
        kind=Kind.STRING,
        doc="The security protocol of each listener's name, as NAME:PROTOCOL. Only PLAINTEXT is "
        "served now, and it is the default for a name that is not itself a protocol.",
    ),
    Setting(
        "allow.insecure.listen",
        default=False,
        kind=Kind.BOOLEAN,
        doc="Listen beyond loopback although nobody is asked who they are.",
        importance=Importance.HIGH,
    ),
)

WATCHING_ROWS: Final = (
    Setting(
        "logging.format",
        default="text",
        kind=Kind.STRING,
        doc="Log lines as text, or as an object of JSON each.",
        check=one_of("text", "json"),
    ),
    Setting(
        "logging.level",
        default="info",
        kind=Kind.STRING,
        doc="Log lines of this level and above.",
        check=one_of("debug", "info", "warning", "error"),
    ),
    Setting(
        "logging.requests",
        default=False,
        kind=Kind.BOOLEAN,
        doc="A log line for each request, from the start; SIGUSR1 turns them on and off.",
    ),
    Setting(
        "metrics.listen",
        default="",
        kind=Kind.STRING,
        doc="HOST:PORT of an HTTP endpoint with /metrics (Prometheus), /health and /ready; empty "
        "for none.",
    ),
    Setting(
        "metrics.partitions.max",
        default=1000,
        kind=Kind.INT,
        doc="With more partitions than this, metrics have no lines for single partitions.",
        check=at_least(0),
    ),
)

CONNECTION_ROWS: Final = (
    Setting(
        "socket.request.max.bytes",
        default=100 * MIB,
        kind=Kind.INT,
        doc="The largest request; a larger one closes its connection.",
        check=at_least(KIB),
    ),
    Setting(
        "queued.max.request.bytes",
        default=512 * MIB,
        kind=Kind.LONG,
        doc="Memory of requests that are not handled yet, for all connections; beyond it "
        "connections are read one after the other. -1 for no limit, as is Kafka's default.",
        check=at_least(-1),
    ),
    Setting(
        "max.connections",
        default=10_000,
        kind=Kind.INT,
        doc="Connections at one time; a further one is closed at once.",
        check=at_least(1),
    ),
    Setting(
        "max.connections.per.ip",
        default=_INT_MAX,
        kind=Kind.INT,
        doc="Connections at one time from one address; a further one is closed at once.",
        check=at_least(0),
    ),
    Setting(
        "max.connections.per.ip.overrides",
        default="",
        kind=Kind.STRING,
        doc="Other limits for some addresses: HOST:COUNT, separated by commas.",
    ),
    Setting(
        "connections.max.idle.ms",
        default=10 * MINUTE_MS,
        kind=Kind.LONG,
        doc="A connection that has been idle for so long is closed; -1 for never.",
        check=at_least(-1),
    ),
    Setting(
        "socket.send.buffer.bytes",
        default=-1,
        kind=Kind.INT,
        doc="The socket's send buffer; -1 for the system's, which adapts to the connection.",
        check=at_least(-1),
    ),
    Setting(
        "socket.receive.buffer.bytes",
        default=-1,
        kind=Kind.INT,
        doc="The socket's receive buffer; -1 for the system's, which adapts to the connection.",
        check=at_least(-1),
    ),
    Setting(
        "socket.listen.backlog.size",
        default=512,
        kind=Kind.INT,
        doc="Connections that wait to be accepted.",
        check=at_least(1),
    ),
    Setting(
        "fetch.max.bytes",
        default=55 * MIB,
        kind=Kind.INT,
        doc="The most bytes of records in one fetch answer.",
        check=at_least(KIB),
    ),
    Setting(
        "max.incremental.fetch.session.cache.slots",
        default=1000,
        kind=Kind.INT,
        doc="Fetch sessions that are kept; a client without one asks for all its partitions anew.",
        check=at_least(0),
    ),
)
