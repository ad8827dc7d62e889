"""A broker with logins and rights, and registries that take their users from it."""

import http.client
import json
import os
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from duolog.runtime.broker_process import BROKER_PROGRAM, BrokerProcess

TIMEOUT_S = 120
ADMIN = "admins-secret"
SETTINGS = {
    "authorizer.class.name": "acl",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
    "connection.failed.authentication.delay.ms": "0",
    "durability": "os",
    "group.initial.rebalance.delay.ms": "0",
}
WITH_REGISTRY = (*BROKER_PROGRAM, "--registry", "127.0.0.1:0")


@contextmanager
def secured_broker(
    path: Path,
    listen: str = "SASL_PLAINTEXT://127.0.0.1:0",
    settings: Mapping[str, str] | None = None,
    program: tuple[str, ...] = BROKER_PROGRAM,
) -> Iterator[BrokerProcess]:
    """A broker with the administrator `admin`."""
    password = path / "admin.password"
    password.write_text(ADMIN)
    duolog("users", "bootstrap", str(path / "data"), "--password-file", str(password))
    with BrokerProcess(
        path / "data", listen, {**SETTINGS, **(settings or {})}, program=program
    ) as broker:
        yield broker


def duolog(*words: str, typed: str = "") -> str:
    """Run a command that must succeed; return its standard output."""
    result = subprocess.run(
        [sys.executable, "-P", "-m", "duolog", *words],
        input=typed,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def properties_file(path: Path, user: str = "admin", secret: str = ADMIN, **more: str) -> Path:
    """Write the properties of a client that logs in."""
    properties = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": secret,
    } | {name.replace("_", "."): value for name, value in more.items()}
    file = path / f"{user}.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    file.chmod(0o600)
    return file


class Administrator:
    """Runs commands as an administrator of a broker."""

    def __init__(self, servers: str, properties: Path) -> None:
        self._options = ("-b", servers, "--client-properties", str(properties))

    def __call__(self, *words: str, typed: str = "") -> str:
        return duolog(*words, *self._options, typed=typed)


def basic(user: str, password: str) -> str:
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"


def status(
    url: str, authorization: str | None, method: str, path: str, body: Any = None
) -> tuple[int, Any]:
    """Send a request; return status and JSON of the answer."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=TIMEOUT_S)
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if authorization is not None:
        headers["Authorization"] = authorization
    try:
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, headers)
        response = connection.getresponse()
        content = response.read()
        return response.status, json.loads(content) if content else None
    finally:
        connection.close()
