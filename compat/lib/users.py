"""Users and listeners of a secured broker, for suites."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from conformance.token_issuer import TokenIssuer
from lib.broker import ADMIN, ADMIN_PASSWORD, SECURED_PORTS, TLS_FOLDER

_TIMEOUT_S = 60


def port(protocol: str) -> int:
    """Return the port of the listener with this protocol, such as SASL_SSL."""
    return int(json.loads(os.environ[SECURED_PORTS])[protocol])


def certificates() -> Path:
    """Return the folder with ca.pem, client.pem and server.pem."""
    return Path(os.environ[TLS_FOLDER])


def admin_settings() -> dict[str, Any]:
    """Return the settings of a client of the administrator, by librdkafka's names."""
    return {
        "bootstrap.servers": f"127.0.0.1:{port('SASL_PLAINTEXT')}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": ADMIN,
        "sasl.password": ADMIN_PASSWORD,
    }


def add_users(users: Mapping[str, str]) -> None:
    """Create users with these passwords."""
    admin = AdminClient(admin_settings())
    # A request may alter each user only once.
    for how in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        changes: list[Any] = [
            UserScramCredentialUpsertion(name, ScramCredentialInfo(how, 4096), password.encode())
            for name, password in users.items()
        ]
        for future in admin.alter_user_scram_credentials(changes).values():
            future.result(_TIMEOUT_S)


def token(user: str) -> str:
    """Return a token by which a user logs in with OAUTHBEARER."""
    return TokenIssuer(certificates() / "issuer").token(user)[0]
