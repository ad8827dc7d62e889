"""Kafka Streams' own system tests, whose instances log in over TLS; see `lib/streams.py`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.outcomes import Outcome
from lib.streams import SETTINGS, run_checks
from lib.suite import fetch
from lib.users import add_users, certificates, port

USER, PASSWORD = "streamer", "streamers-secret"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


class KafkaStreamsSasl:
    """The system tests' programs; applications log in with SCRAM, again every five seconds."""

    client = "Kafka Streams 4.1.2"
    settings: Mapping[str, str] = MappingProxyType(
        {**SETTINGS, "connections.max.reauth.ms": "5000"}
    )
    secured = True

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        fetch(Path(__file__).parent.with_name("kafka_streams"), cache)
        add_users({USER: PASSWORD})
        of_instances = {
            "bootstrap.servers": f"127.0.0.1:{port('SASL_SSL')}",
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{SCRAM} required username="{USER}" password="{PASSWORD}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(certificates() / "ca.pem"),
        }
        return run_checks(bootstrap_servers, cache, selection, of_instances)


SUITE = KafkaStreamsSasl()
