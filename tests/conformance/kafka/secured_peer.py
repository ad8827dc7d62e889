"""A real Apache Kafka with TLS, SASL, mutual TLS and ACLs, to test clients against.

    127.0.0.1:PORT     SASL_SSL   SCRAM-SHA-256, SCRAM-SHA-512 and PLAIN
    `mutual_servers`   SSL        a client certificate is required: User:CN=name

`admin` is a super user; others have the ACLs that a test gives them. The broker's own connections
use listeners of their own, on which it is anonymous.
"""

from pathlib import Path

from conformance.kafka.certificates import Authority
from conformance.kafka.peer import KafkaPeer, free_ports
from conformance.kafka.secured_servers import (
    ADMIN,
    ADMIN_PASSWORD,
    MECHANISM,
    MODULES,
    SecuredServers,
)


class SecuredPeer(SecuredServers, KafkaPeer):
    """A secured broker in `data_dir`; a context manager like `KafkaPeer`."""

    def __init__(self, data_dir: Path) -> None:
        self.authority = Authority(data_dir / "certificates")
        self.ca = self.authority.certificate
        self.certificate = self.authority.sign("broker")
        port, controller, mutual, internal = free_ports(4)
        self.mutual_servers = f"127.0.0.1:{mutual}"
        listeners = (
            f"SASL_SSL://127.0.0.1:{port},SSL://{self.mutual_servers},"
            f"INTERNAL://127.0.0.1:{internal}"
        )
        plain = f'{MODULES}.plain.PlainLoginModule required user_{ADMIN}="{ADMIN_PASSWORD}";'
        scram = f"{MODULES}.scram.ScramLoginModule required;"
        of_listener = "listener.name.sasl_ssl"
        settings = {
            "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": listeners,
            "listener.security.protocol.map": "SASL_SSL:SASL_SSL,SSL:SSL,INTERNAL:PLAINTEXT,"
            "CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "INTERNAL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.certificate),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority.certificate),
            "listener.name.ssl.ssl.client.auth": "required",
            "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN",
            f"{of_listener}.plain.sasl.jaas.config": plain,
            f"{of_listener}.scram-sha-256.sasl.jaas.config": scram,
            f"{of_listener}.scram-sha-512.sasl.jaas.config": scram,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            # The broker's own connections are anonymous; clients cannot be.
            "super.users": f"User:{ADMIN};User:ANONYMOUS",
            "auto.create.topics.enable": "false",
        }
        user = f"{MECHANISM}=[name={ADMIN},password={ADMIN_PASSWORD}]"
        super().__init__(
            data_dir,
            settings=settings,
            ports=(port, controller),
            format_options=("--add-scram", user),
        )
