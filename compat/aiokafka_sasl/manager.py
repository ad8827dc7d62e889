"""Users and rules for aiokafka's tests, by the calls of its ACLManager and KafkaConfig.

Those run Kafka's tools in a container. Read by the tests' `conftest.py`, into whose folder `fetch`
copies it.
"""

import json
import os
from typing import Any

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

_TIMEOUT_S = 60
_KINDS = {
    "cluster": ResourceType.BROKER,
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional_id": ResourceType.TRANSACTIONAL_ID,
}


class Manager:
    """The administrator of the broker under test."""

    def __init__(self) -> None:
        port = json.loads(os.environ["DUOLOG_COMPAT_SECURED_PORTS"])["SASL_PLAINTEXT"]
        self._admin = AdminClient(
            {
                "bootstrap.servers": f"127.0.0.1:{port}",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanisms": "SCRAM-SHA-512",
                "sasl.username": "admin",
                "sasl.password": "admin-secret",
            }
        )
        self._active: list[AclBinding] = []

    def list_acl(self, principal: str | None = None) -> None:
        """Kafka's tool prints the rules; no test reads them."""

    def add_acl(self, **wanted: Any) -> None:
        rule = _rule(**wanted)
        self._admin.create_acls([rule])[rule].result(_TIMEOUT_S)
        self._active.append(rule)

    def cleanup(self) -> None:
        for rule in self._active:
            kind, name, pattern = rule.restype, rule.name, rule.resource_pattern_type
            which = (kind, name, pattern, rule.principal, rule.host)
            found = AclBindingFilter(*which, rule.operation, rule.permission_type)
            self._admin.delete_acls([found])[found].result(_TIMEOUT_S)
        self._active.clear()

    def add_scram_user(self, username: str, password: str) -> None:
        # A request may alter each user only once.
        for how in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            info = ScramCredentialInfo(how, 4096)
            change: list[Any] = [UserScramCredentialUpsertion(username, info, password.encode())]
            for future in self._admin.alter_user_scram_credentials(change).values():
                future.result(_TIMEOUT_S)


def _rule(operation: str, **wanted: Any) -> AclBinding:
    """Return the rule of the tests' words, which are the options of kafka-acls."""
    (kind,) = _KINDS.keys() & wanted.keys()
    denied = wanted.get("deny_principal")
    return AclBinding(
        _KINDS[kind],
        "kafka-cluster" if kind == "cluster" else wanted[kind],
        ResourcePatternType.LITERAL,
        f"User:{denied or wanted['allow_principal']}",
        "*",
        AclOperation[operation.upper()],
        AclPermissionType.DENY if denied else AclPermissionType.ALLOW,
    )
