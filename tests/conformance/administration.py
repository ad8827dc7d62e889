"""A broker with logins and rights that an administrator manages by the commands of `duolog`."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from duolog.runtime.broker_process import BrokerProcess

TIMEOUT_S = 60
SECRET, ALICES = "first-secret", "alices-secret"


@contextmanager
def administered(directory: Path, **settings: str) -> Iterator[BrokerProcess]:
    """Run a broker over a data directory whose administrator `duolog users bootstrap` created."""
    password = directory / "password"
    password.write_text(SECRET)
    created = duolog(
        "users", "bootstrap", str(directory / "data"), "--password-file", str(password)
    )
    assert created.returncode == 0, created.stderr
    own = {
        "authorizer.class.name": "acl",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
        "connection.failed.authentication.delay.ms": "0",
    }
    listen = "SASL_PLAINTEXT://127.0.0.1:0"
    with BrokerProcess(directory / "data", listen, settings=own | settings) as process:
        yield process


def duolog(*words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "duolog", *words],
        input=typed,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )


def login(user: str = "admin", typed: str = SECRET) -> dict[str, Any]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": typed,
    }


def properties_file(broker: BrokerProcess, user: str = "admin", secret: str = SECRET) -> str:
    """Return the path of a file with a login: a password is never an argument."""
    path = broker.data_dir.with_name(f"{user}.properties")
    path.write_text("".join(f"{name}={value}\n" for name, value in login(user, secret).items()))
    path.chmod(0o600)
    return str(path)


def as_admin(broker: BrokerProcess, *words: str, typed: str = "") -> str:
    """Run a command as the administrator; return its standard output."""
    options = ("--client-properties", properties_file(broker))
    result = duolog(*words, "-b", broker.bootstrap_servers, *options, typed=typed)
    assert result.returncode == 0, result.stderr
    return result.stdout


def listed(broker: BrokerProcess, *words: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(as_admin(broker, *words, "-o", "json"))
    return rows


def as_user(
    broker: BrokerProcess, user: str, secret: str, *words: str
) -> subprocess.CompletedProcess[str]:
    """Run a command as a user, whatever its outcome."""
    options = ("--client-properties", properties_file(broker, user, secret))
    return duolog(*words, "-b", broker.bootstrap_servers, *options)
