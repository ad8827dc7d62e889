"""`duolog quotas` against brokers with and without logins and TLS, and against the tool of Kafka."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import certificates
from conformance.kafka.peer import TOOL_OPTIONS, fetch
from conftest import RequireProgram
from duolog.runtime.broker_process import BrokerProcess

TIMEOUT_S = 60
SECRET = "first-secret"  # noqa: S105 - of a broker of this test
COMMAND = (sys.executable, "-P", "-m", "duolog")


def duolog(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )


def ran(*words: str) -> str:
    result = duolog(*words)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path / "data") as process:
        yield process


def listed(*options: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(ran("quotas", "list", "-o", "json", *options))
    return rows


def test_quotas_are_set_listed_and_removed(broker: BrokerProcess) -> None:
    at = ("-b", broker.bootstrap_servers)

    ran("quotas", "set", "producer_byte_rate=1000", "request_percentage=2.5", "--user", "a", *at)
    ran("quotas", "set", "consumer_byte_rate=7", "--user-defaults", "--client", "c", *at)
    ran("quotas", "set", "connection_creation_rate=3", "--ip-defaults", *at)
    all_rows = listed(*at)
    ran("quotas", "remove", "producer_byte_rate", "--user", "a", *at)
    ran("quotas", "remove", "consumer_byte_rate", "--user-defaults", "--client", "c", *at)
    ran("quotas", "remove", "connection_creation_rate", "--ip-defaults", *at)
    again = duolog("quotas", "remove", "producer_byte_rate", "--user", "a", *at)
    assert (again.returncode, "user a has no quota producer_byte_rate" in again.stderr) == (3, True)

    found = {(r["user"], r["client_id"], r["ip"], r["quota"]): r["value"] for r in all_rows}
    assert found == {
        ("a", None, None, "producer_byte_rate"): 1000.0,
        ("a", None, None, "request_percentage"): 2.5,
        ("<default>", "c", None, "consumer_byte_rate"): 7.0,
        (None, None, "<default>", "connection_creation_rate"): 3.0,
    }
    assert [row["quota"] for row in listed(*at)] == ["request_percentage"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("set", "request_percentage=0", "--user", "a"), "must be above 0"),
        (("set", "rate=1", "--user", "a"), "unknown quota"),
        (("set", "request_percentage=x", "--user", "a"), "QUOTA=NUMBER"),
        (("set", "request_percentage=1"), "Give a user"),
        (("set", "request_percentage=1", "--user", "a", "--user-defaults"), "not both"),
    ],
)
def test_errors_name_what_is_wrong(
    broker: BrokerProcess, words: tuple[str, ...], text: str
) -> None:
    result = duolog("quotas", *words, "-b", broker.bootstrap_servers)

    assert text in result.stderr
    assert result.returncode == 2, result.stderr


def test_no_broker_is_reported() -> None:
    result = duolog("quotas", "list", "-b", "127.0.0.1:1")

    assert result.returncode == 5
    assert "no broker answers" in result.stderr


def plain(_: certificates.Certificates) -> tuple[str, dict[str, str]]:
    return "SASL_PLAINTEXT", {"sasl.mechanism": "PLAIN"}


def scram(_: certificates.Certificates) -> tuple[str, dict[str, str]]:
    return "SASL_PLAINTEXT", {"sasl.mechanism": "SCRAM-SHA-512"}


def scram_over_tls(files: certificates.Certificates) -> tuple[str, dict[str, str]]:
    tls = {
        "ssl.ca.location": str(files.ca),
        "ssl.certificate.location": str(files.client),
        "ssl.key.location": str(files.client),
    }
    return "SASL_SSL", {"sasl.mechanism": "SCRAM-SHA-256", **tls}


@pytest.mark.parametrize("login", [plain, scram, scram_over_tls])
def test_the_command_logs_in(
    tmp_path: Path, login: Callable[[certificates.Certificates], tuple[str, dict[str, str]]]
) -> None:
    files = certificates.make(tmp_path / "ca")
    protocol, properties = login(files)
    password = tmp_path / "password"
    password.write_text(SECRET)
    ran("users", "bootstrap", str(tmp_path / "data"), "--password-file", str(password))
    settings = {
        "authorizer.class.name": "acl",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        **(files.settings("required") if protocol == "SASL_SSL" else {}),
    }
    properties |= {"security.protocol": protocol, "sasl.username": "admin"}

    def file(name: str, secret: str) -> str:
        path = tmp_path / name
        rows = {**properties, "sasl.password": secret}.items()
        path.write_text("".join(f"{key}={value}\n" for key, value in rows))
        path.chmod(0o600)
        return str(path)

    with BrokerProcess(tmp_path / "data", f"{protocol}://127.0.0.1:0", settings) as process:
        at = ("-b", process.bootstrap_servers, "--client-properties")
        ran("quotas", "set", "producer_byte_rate=5", "--user", "a", *at, file("good", SECRET))
        rows = listed(*at, file("good", SECRET))
        refused = duolog("quotas", "list", *at, file("bad", "wrong-secret"))

    assert [row["value"] for row in rows] == [5.0]
    assert refused.returncode != 0
    assert "wrong-secret" not in refused.stderr


def test_the_tool_of_kafka_shows_the_same_quotas(
    broker: BrokerProcess, require_program: RequireProgram
) -> None:
    require_program("java", package="openjdk-17-jre-headless")
    require_program("mvn", package="maven")
    at = ("-b", broker.bootstrap_servers)
    ran("quotas", "set", "producer_byte_rate=1234", "--user", "shown", "--client-defaults", *at)

    done = subprocess.run(
        [
            *("java", *TOOL_OPTIONS, "-cp", f"{fetch()}/*", "kafka.admin.ConfigCommand"),
            *("--bootstrap-server", broker.bootstrap_servers, "--describe"),
            *("--entity-type", "users", "--entity-name", "shown"),
            *("--entity-type", "clients", "--entity-default"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "producer_byte_rate=1234.0" in done.stdout
