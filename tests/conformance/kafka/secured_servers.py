"""A client's view of a broker with TLS and users: what Apache Kafka and Duolog have in common.

Tests that run against both take a `SecuredServers`, and ask it for properties of clients, users and
rights. It shares no code with Duolog's own settings of clients.
"""

import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from waiting import wait_until

ADMIN: Final = "admin"
ADMIN_PASSWORD: Final = "s3cret-of-admin"  # noqa: S105 - of a broker on loopback
MECHANISM: Final = "SCRAM-SHA-512"
MODULES: Final = "org.apache.kafka.common.security"
_TIMEOUT_S: Final = 60.0
_KINDS: Final = {
    "--topic": ResourceType.TOPIC,
    "--group": ResourceType.GROUP,
    "--transactional-id": ResourceType.TRANSACTIONAL_ID,
}
_OPERATIONS: Final = {
    "".join(part.capitalize() for part in one.name.split("_")): one for one in AclOperation
}


class SecuredServers:
    """A listener SASL_SSL at `bootstrap_servers`, whose certificate `ca` has signed."""

    bootstrap_servers: str
    ca: Path

    def properties(
        self, user: str = ADMIN, password: str = ADMIN_PASSWORD, mechanism: str = MECHANISM
    ) -> dict[str, str]:
        """Return the properties of a client, by Kafka's names."""
        module = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f'{MODULES}.{module}LoginModule required username="{user}" '
            f'password="{password}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.ca),
        }

    def write_properties(
        self, path: Path, user: str = ADMIN, password: str = ADMIN_PASSWORD, **more: str
    ) -> Path:
        """Write the properties of a client to a file that only its owner can read."""
        path.touch(mode=0o600)
        lines = {**self.properties(user, password), **more}.items()
        path.write_text("".join(f"{name}={value}\n" for name, value in lines))
        return path

    def librdkafka(
        self, user: str = ADMIN, password: str = ADMIN_PASSWORD, mechanism: str = MECHANISM
    ) -> dict[str, Any]:
        """Return the settings of a client, by librdkafka's names."""
        return {
            "bootstrap.servers": self.bootstrap_servers,
            "security.protocol": "SASL_SSL",
            "sasl.mechanisms": mechanism,
            "sasl.username": user,
            "sasl.password": password,
            "ssl.ca.location": str(self.ca),
        }

    def admin(self) -> AdminClient:
        """Return a client of the super user."""
        return AdminClient(self.librdkafka())

    def add_user(self, name: str, password: str) -> None:
        """Create a user that has no rights, and wait until the broker knows it."""
        admin = self.admin()  # Closing it would discard the answer.
        # Two requests: Apache Kafka refuses to alter a user twice in one.
        for how in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            credential = ScramCredentialInfo(how, 4096)
            change = UserScramCredentialUpsertion(name, credential, password.encode())
            for future in admin.alter_user_scram_credentials([change]).values():
                future.result(_TIMEOUT_S)
        # Apache Kafka's broker applies a change some time after the answer of its controller.
        wait_until(lambda: self._mechanisms(name) == 2, "the user is not known")

    def _mechanisms(self, name: str) -> int:
        """Return the number of credentials of a user that the broker knows."""
        admin = self.admin()  # As in `add_user`.
        found = admin.describe_user_scram_credentials([name])
        assert isinstance(found, dict), found
        described = found[name]
        try:
            return len(described.result(_TIMEOUT_S).scram_credential_infos)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.RESOURCE_NOT_FOUND:
                raise
            return 0

    def allow(
        self,
        principal: str,
        resource: ResourceType,
        name: str,
        *operations: AclOperation,
        pattern: ResourcePatternType = ResourcePatternType.LITERAL,
    ) -> None:
        """Give a principal rights, and wait until the broker applies them."""
        rules = [
            AclBinding(resource, name, pattern, principal, "*", operation, AclPermissionType.ALLOW)
            for operation in operations
        ]
        admin = self.admin()
        for future in admin.create_acls(rules).values():
            future.result(_TIMEOUT_S)
        of_host = (principal, "*", AclOperation.ANY, AclPermissionType.ANY)
        of_resource = AclBindingFilter(resource, name, pattern, *of_host)
        wait_until(
            lambda: set(rules) <= set(admin.describe_acls(of_resource).result(_TIMEOUT_S)),
            "the rights are not in force",
        )

    def allow_printed(self, text: str) -> None:
        """Give the rights of the commands that `--print-acls` prints: one of kafka-acls a line."""
        for line in text.splitlines():
            words = shlex.split(line)
            (kind,) = _KINDS.keys() & set(words)
            following = dict(pairwise(words))
            self.allow(
                following["--allow-principal"],
                _KINDS[kind],
                following[kind],
                *(_OPERATIONS[word] for before, word in pairwise(words) if before == "--operation"),
                pattern=ResourcePatternType.PREFIXED
                if "prefixed" in words
                else ResourcePatternType.LITERAL,
            )
