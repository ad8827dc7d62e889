"""A Duolog broker process with everything on: TLS, users, client certificates, tokens, ACLs.

    `bootstrap_servers`   SASL_SSL   PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and OAUTHBEARER
    `mutual_servers`      SSL        a client certificate is required: User:NAME of CN=NAME

`admin` is created from a file at the first start and is a super user; others have the rights that a
test gives them. The keys of the tokens' issuer are in a file.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import certificates
from conformance.kafka.peer import free_ports
from conformance.kafka.secured_servers import ADMIN, ADMIN_PASSWORD, SecuredServers
from conformance.token_issuer import TokenIssuer
from duolog.runtime.broker_process import BrokerProcess
from duolog.security.certificates.authority import Authority

_PASSWORD_FILE: Final = "DUOLOG_ADMIN_PASSWORD_FILE"  # noqa: S105 - the name of a variable


class SecuredBroker(SecuredServers, BrokerProcess):
    """A secured broker in `directory`; `settings` add to its own."""

    def __init__(self, directory: Path, settings: Mapping[str, str] | None = None) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.certificates = certificates.make(directory / "certificates")
        self.ca = self.certificates.ca
        self._password = directory / "password"
        self._password.write_text(ADMIN_PASSWORD)
        self.issuer = TokenIssuer(directory / "issuer")
        self.mutual_servers = f"127.0.0.1:{free_ports(1)[0]}"
        own = {
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{ADMIN}",
            "listener.name.ssl.ssl.client.auth": "required",
            "ssl.principal.mapping.rules": "RULE:^CN=(.*?)(,.*)?$/$1/",
            "connection.failed.authentication.delay.ms": "0",
            "auto.create.topics.enable": "false",
        }
        super().__init__(
            directory / "data",
            "SASL_SSL://127.0.0.1:0",
            self.certificates.settings() | self.issuer.settings() | own | dict(settings or {}),
        )

    def command(self) -> list[str]:
        return [*super().command(), "--listen", f"SSL://{self.mutual_servers}"]

    def start(self, timeout_s: float = 60.0) -> None:
        before = os.environ.get(_PASSWORD_FILE)
        os.environ[_PASSWORD_FILE] = str(self._password)
        try:
            super().start(timeout_s)
        finally:
            if before is None:
                del os.environ[_PASSWORD_FILE]
            else:
                os.environ[_PASSWORD_FILE] = before

    def client_certificate(self, name: str) -> Path:
        """Return a file with a key and a certificate of `User:NAME`."""
        path = self.certificates.path / f"{name}.pem"
        if path.exists():
            return path
        return Authority(self.certificates.path).add_client(name, days=2)

    def logins(self, principal: str) -> int:
        """Return the number of successful logins in the broker's log."""
        lines = self.log_path.read_text().splitlines()
        return sum(principal in line and '"success"' in line for line in lines)
