"""A broker with all items of the hardening checklist: an administrator, metrics, the audit topic."""

import json
import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

import certificates
from duolog.runtime.broker_process import BrokerProcess
from waiting import wait_until

PASSWORD = "of-the-administrator"  # noqa: S105 - of this test's broker
TIMEOUT_S = 60


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> certificates.Certificates:
    return certificates.make(tmp_path_factory.mktemp("certificates") / "ca")


@pytest.fixture(scope="module")
def broker(
    tmp_path_factory: pytest.TempPathFactory, files: certificates.Certificates
) -> Iterator[BrokerProcess]:
    directory = tmp_path_factory.mktemp("broker")
    (directory / "password").write_text(PASSWORD)
    settings = {
        **files.settings(),
        "authorizer.class.name": "acl",
        "audit.log.topic": "audit",
        "listener.name.sasl_ssl.connections.max.reauth.ms": "3600000",
        "metrics.listen": "127.0.0.1:0",
        "metrics.tls.cert": str(files.server),
        "metrics.require.token": "true",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DUOLOG_ADMIN_PASSWORD_FILE", str(directory / "password"))
        with BrokerProcess(directory / "data", "SASL_SSL://127.0.0.1:0", settings) as process:
            yield process


@pytest.fixture(scope="module")
def properties(broker: BrokerProcess, files: certificates.Certificates) -> Path:
    path = broker.data_dir.with_name("admin.properties")
    path.touch(mode=0o600)
    login = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "admin",
        "sasl.password": PASSWORD,
        "ssl.ca.location": str(files.ca),
    }
    path.write_text("".join(f"{name}={value}\n" for name, value in login.items()))
    return path


def duolog(broker: BrokerProcess, properties: Path, *words: str) -> str:
    """Run a command as the administrator; return what it prints."""
    options = ("-b", broker.bootstrap_servers, "--client-properties", str(properties))
    return subprocess.run(
        [sys.executable, "-P", "-m", "duolog", *words, *options],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    ).stdout


def metrics(broker: BrokerProcess, files: certificates.Certificates, token: str = "") -> str:
    """Return what the endpoint of the broker answers; raises HTTPError."""
    found = re.search(r"serving metrics.*?(127\.0\.0\.1:\d+)", broker.log_path.read_text())
    assert found
    request = urllib.request.Request(f"https://{found[1]}/metrics")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    context = ssl.create_default_context(cafile=str(files.ca))
    with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=context) as answer:  # noqa: S310
        return str(answer.read().decode())


def test_a_token_of_a_command_reads_metrics_and_nothing_is_insecure_or_lost(
    broker: BrokerProcess, properties: Path, files: certificates.Certificates
) -> None:
    with pytest.raises(urllib.error.HTTPError, match="401"):
        metrics(broker, files)
    token = duolog(broker, properties, "tokens", "create", "prometheus", "--expires", "1d").strip()
    with pytest.raises(urllib.error.HTTPError, match="403"):
        metrics(broker, files, token)
    rule = ("--allow", "User:prometheus", "--operation", "describe", "--cluster")
    duolog(broker, properties, "acls", "add", *rule)

    text = metrics(broker, files, token)

    assert 'duolog_listener_insecure{listener="SASL_SSL"} 0' in text
    assert "duolog_audit_lines_lost_total 0" in text
    assert token not in broker.log_path.read_text()


def test_the_audit_topic_has_what_the_commands_did(broker: BrokerProcess, properties: Path) -> None:
    duolog(broker, properties, "acls", "add", "--allow", "User:eve", "--operation", "read",
           "--topic", "trace")  # fmt: skip
    login = dict(line.split("=", 1) for line in properties.read_text().splitlines())
    reader = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", **login})
    reader.assign([TopicPartition("audit", 0, 0)])
    seen: list[dict[str, str]] = []

    def changed() -> bool:
        for message in reader.consume(100, 0.2):
            value = message.value()
            assert message.error() is None
            assert value is not None
            seen.append(json.loads(value))
        return any("User:eve" in line.get("object", "") for line in seen)

    wait_until(changed, lambda: f"a line about User:eve among {seen}")
    reader.close()
    assert {line["principal"] for line in seen if line["event"] == "login"} <= {
        "User:admin",
        "User:",
    }
    assert PASSWORD not in str(seen)


def test_no_file_of_the_broker_is_open_to_others(broker: BrokerProcess) -> None:
    paths = [broker.data_dir, *broker.data_dir.rglob("*")]

    assert len(paths) > 10
    assert [str(path) for path in paths if path.stat().st_mode & 0o077] == []
