"""Settings of the registry's Kafka clients, and the translation of their errors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException

from duolog.registry.store.errors import StoreUnavailable

REQUEST_TIMEOUT_S: Final = 10.0
Setting = str | int | float | bool
_NO_BROKER: Final = frozenset({-195, -193, -187, -185})


@dataclass(frozen=True, slots=True)
class KafkaOptions:
    """The cluster, the topic and the group of one registry.

    Attributes:
        properties: further properties of all clients, by librdkafka's names (TLS, SASL).
    """

    bootstrap_servers: str
    topic: str = "_schemas"
    group: str = "schema-registry"
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    def client(self, settings: Mapping[str, Setting] | None = None) -> dict[str, Setting]:
        """Return the settings of a client; `properties` override all others."""
        return {
            "bootstrap.servers": self.bootstrap_servers,
            "client.id": "duolog-registry",
            # Calls and callbacks return the errors; librdkafka's log would repeat them.
            "log_level": 0,
            # A broker that restarts is back in a moment; the default waits up to 10 s.
            "reconnect.backoff.max.ms": 1000,
            **(settings or {}),
            **self.properties,
        }


def unavailable(error: Exception, doing: str, options: KafkaOptions) -> StoreUnavailable:
    """Convert an error of a client; `doing` names what failed."""
    told = client_error(error)
    code = int(told.code())
    servers = options.bootstrap_servers
    return StoreUnavailable(
        f"could not {doing}",
        code=code,
        retriable=bool(told.retriable()),
        detail=f"{told.name()}: {told.str()}",
        hint=f"Check that a broker is running at {servers}." if code in _NO_BROKER else "",
    )


def client_error(error: Exception) -> ClientError:
    """Return the client's error object; a timeout if the exception has none."""
    if isinstance(error, KafkaException) and isinstance(error.args[0], ClientError):
        return error.args[0]
    return ClientError(ClientError._TIMED_OUT, str(error))  # noqa: SLF001 - librdkafka's own codes have this form
