"""Settings of listeners, connections and metrics, under Kafka's names if any."""

from typing import Final

from duolog.core.setting_types import Kind, Setting, at_least, one_of
from duolog.core.units import INT32_MAX, KIB, MIB, MINUTE_MS

LISTENER_ROWS: Final = (
    Setting(
        "listeners",
        default="",
        kind=Kind.STRING,
        doc="The listeners, as NAME://HOST:PORT separated by commas. Same as --listen.",
    ),
    Setting(
        "advertised.listeners",
        default="",
        kind=Kind.STRING,
        doc="The address of each listener that clients connect to, if it differs from the address "
        "that it listens on. Same as --advertise.",
    ),
    Setting(
        "listener.security.protocol.map",
        default="",
        kind=Kind.STRING,
        doc="The security protocol of each listener's name, as NAME:PROTOCOL: PLAINTEXT, "
        "SSL, SASL_PLAINTEXT or SASL_SSL. The default is the name, or PLAINTEXT for a name that "
        "is not itself a protocol.",
    ),
    Setting(
        "allow.insecure.listen",
        default=False,
        kind=Kind.BOOLEAN,
        doc="Whether others can connect to listeners beyond loopback without authentication or "
        "encryption. Same as --insecure.",
    ),
)

WATCHING_ROWS: Final = (
    Setting(
        "logging.format",
        default="text",
        kind=Kind.STRING,
        doc="The format of log lines: text, or one JSON object per line.",
        check=one_of("text", "json"),
    ),
    Setting(
        "logging.level",
        default="info",
        kind=Kind.STRING,
        doc="The minimum level of log lines.",
        check=one_of("debug", "info", "warning", "error"),
    ),
    Setting(
        "logging.requests",
        default=False,
        kind=Kind.BOOLEAN,
        doc="Whether to log each request from the start. SIGUSR1 switches request logging on and "
        "off.",
    ),
    Setting(
        "metrics.listen",
        default="",
        kind=Kind.STRING,
        doc="The HOST:PORT of an HTTP endpoint with /metrics (Prometheus), /health and /ready. "
        "Empty means no endpoint.",
    ),
    Setting(
        "metrics.tls.cert",
        default="",
        kind=Kind.STRING,
        doc="A PEM file with the certificate chain of the endpoint at metrics.listen, which then "
        "speaks HTTPS. It is read again when it changes.",
    ),
    Setting(
        "metrics.tls.key",
        default="",
        kind=Kind.STRING,
        doc="A PEM file with the private key, if it is not in metrics.tls.cert.",
    ),
    Setting(
        "metrics.require.token",
        default=False,
        kind=Kind.BOOLEAN,
        doc="Whether /metrics needs a bearer token, as `duolog tokens create` prints it or an "
        "issuer signs it, of a user who may DESCRIBE the cluster. /health and /ready do not.",
    ),
    Setting(
        "metrics.partitions.max",
        default=1000,
        kind=Kind.INT,
        doc="The number of partitions above which metrics have no lines for single partitions.",
        check=at_least(0),
    ),
)

CONNECTION_ROWS: Final = (
    Setting(
        "socket.request.max.bytes",
        default=100 * MIB,
        kind=Kind.INT,
        doc="The maximum size of a request. A larger request closes its connection.",
        check=at_least(KIB),
    ),
    Setting(
        "queued.max.request.bytes",
        default=512 * MIB,
        kind=Kind.LONG,
        doc="The maximum memory for requests of all connections that are not processed yet. "
        "Beyond it, connections are read one after the other. -1 means no limit, which is "
        "Kafka's default.",
        check=at_least(-1),
    ),
    Setting(
        "max.connections",
        default=10_000,
        kind=Kind.INT,
        doc="The maximum number of connections. For each further one, one without a request is "
        "closed. If there is none, the further one is closed.",
        check=at_least(1),
    ),
    Setting(
        "max.connections.per.ip",
        default=INT32_MAX,
        kind=Kind.INT,
        doc="The maximum number of connections from one IP address. Further connections are "
        "closed immediately.",
        check=at_least(0),
    ),
    Setting(
        "max.connections.per.ip.overrides",
        default="",
        kind=Kind.STRING,
        doc="Connection limits for single addresses, as HOST:COUNT separated by commas.",
    ),
    Setting(
        "connections.max.idle.ms",
        default=10 * MINUTE_MS,
        kind=Kind.LONG,
        doc="The time after which idle connections are closed. -1 means never.",
        check=at_least(-1),
    ),
    Setting(
        "socket.send.buffer.bytes",
        default=-1,
        kind=Kind.INT,
        doc="The send buffer size of sockets. -1 means the default of the operating system, which "
        "adapts to the connection. A size that the system does not allow is lowered.",
        check=at_least(-1),
    ),
    Setting(
        "socket.receive.buffer.bytes",
        default=-1,
        kind=Kind.INT,
        doc="The receive buffer size of sockets. -1 means the default of the operating system, "
        "which adapts to the connection. A size that the system does not allow is lowered.",
        check=at_least(-1),
    ),
    Setting(
        "socket.listen.backlog.size",
        default=512,
        kind=Kind.INT,
        doc="The maximum number of connections waiting to be accepted.",
        check=at_least(1),
    ),
    Setting(
        "fetch.max.bytes",
        default=55 * MIB,
        kind=Kind.INT,
        doc="The maximum number of bytes of records in a fetch response.",
        check=at_least(KIB),
    ),
    Setting(
        "max.incremental.fetch.session.cache.slots",
        default=1000,
        kind=Kind.INT,
        doc="The maximum number of cached fetch sessions. A client without a session sends all "
        "its partitions with each fetch.",
        check=at_least(0),
    ),
)
