"""A real Apache Kafka with TLS, SASL, mutual TLS and ACLs, to test clients against.

    127.0.0.1:PORT     SASL_SSL   SCRAM-SHA-256, SCRAM-SHA-512 and PLAIN
    `mutual_servers`   SSL        a client certificate is required: User:CN=name

`admin` is a super user; others have the ACLs that a test gives them. The broker's own connections
use listeners of their own, on which it is anonymous.
"""

from pathlib import Path
from typing import Final

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from conformance.kafka.certificates import Authority
from conformance.kafka.peer import KafkaPeer, free_ports

ADMIN: Final = "admin"
ADMIN_PASSWORD: Final = "s3cret-of-admin"  # noqa: S105 - of a broker on loopback
MECHANISM: Final = "SCRAM-SHA-512"
_MODULES: Final = "org.apache.kafka.common.security"
_TIMEOUT_S: Final = 30.0


class SecuredPeer(KafkaPeer):
    """A secured broker in `data_dir`; a context manager like `KafkaPeer`."""

    def __init__(self, data_dir: Path) -> None:
        self.authority = Authority(data_dir / "certificates")
        self.certificate = self.authority.sign("broker")
        port, controller, mutual, internal = free_ports(4)
        self.mutual_servers = f"127.0.0.1:{mutual}"
        listeners = (
            f"SASL_SSL://127.0.0.1:{port},SSL://{self.mutual_servers},"
            f"INTERNAL://127.0.0.1:{internal}"
        )
        plain = f'{_MODULES}.plain.PlainLoginModule required user_{ADMIN}="{ADMIN_PASSWORD}";'
        scram = f"{_MODULES}.scram.ScramLoginModule required;"
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

    def properties(self, user: str = ADMIN, password: str = ADMIN_PASSWORD) -> dict[str, str]:
        """Return the properties of a client, by Kafka's names."""
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": MECHANISM,
            "sasl.jaas.config": f'{_MODULES}.scram.ScramLoginModule required username="{user}" '
            f'password="{password}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority.certificate),
        }

    def write_properties(
        self, path: Path, user: str = ADMIN, password: str = ADMIN_PASSWORD, **more: str
    ) -> Path:
        """Write the properties of a client to a file that only its owner can read."""
        path.touch(mode=0o600)
        lines = {**self.properties(user, password), **more}.items()
        path.write_text("".join(f"{name}={value}\n" for name, value in lines))
        return path

    def admin(self) -> AdminClient:
        """Return a client of the super user, which shares no code with Duolog's settings."""
        return AdminClient(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "security.protocol": "SASL_SSL",
                "sasl.mechanisms": MECHANISM,
                "sasl.username": ADMIN,
                "sasl.password": ADMIN_PASSWORD,
                "ssl.ca.location": str(self.authority.certificate),
            }
        )

    def add_user(self, name: str, password: str) -> None:
        """Create a user that has no rights."""
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        change = UserScramCredentialUpsertion(name, credential, password.encode())
        admin = self.admin()  # Closing it would discard the answer.
        for future in admin.alter_user_scram_credentials([change]).values():
            future.result(_TIMEOUT_S)

    def allow(
        self,
        principal: str,
        resource: ResourceType,
        name: str,
        *operations: AclOperation,
        pattern: ResourcePatternType = ResourcePatternType.LITERAL,
    ) -> None:
        """Give a principal rights."""
        rules = [
            AclBinding(resource, name, pattern, principal, "*", operation, AclPermissionType.ALLOW)
            for operation in operations
        ]
        admin = self.admin()
        for future in admin.create_acls(rules).values():
            future.result(_TIMEOUT_S)
