"""`duolog broker --registry` next to listeners that ask for logins or certificates."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

import certificates
from conformance.registry.clients import record_schema
from conformance.registry.secured import (
    ADMIN,
    SETTINGS,
    Administrator,
    basic,
    duolog,
    properties_file,
    status,
)
from duolog.registry.client.requests import Requests, addresses_of
from duolog.runtime.broker_login import ensure_login
from duolog.runtime.errors import LoginRefused
from duolog.security.clients.profiles import client_profile
from waiting import wait_until

ADMINS = basic("admin", ADMIN)
SCHEMA = {"schema": record_schema("R")}


@contextmanager
def running(
    path: Path, listen: str, settings: dict[str, str], *more: str
) -> Iterator[tuple[str, str, Path]]:
    """A broker with a registry: its address, the registry's URL, and the log of both."""
    (path / "admin.password").write_text(ADMIN)
    data = path / "data"
    duolog("users", "bootstrap", str(data), "--password-file", str(path / "admin.password"))
    command = [sys.executable, "-P", "-m", "duolog", "broker", "--data", str(data)]
    command += ["--listen", listen, "--registry", "127.0.0.1:0", "--log-format", "json"]
    command += more
    for name, value in {**SETTINGS, **settings}.items():
        command += ["--set", f"{name}={value}"]
    log = path / "log"
    with (
        log.open("wb") as file,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file) as process,
    ):
        try:
            assert process.stdout is not None
            broker = process.stdout.readline().decode().split()[-1]
            second = process.stdout.readline().decode().split()
            assert second, log.read_text()
            yield broker, second[-1], log
        finally:
            process.terminate()
            assert process.wait(120) == 0


LISTENERS = {
    "passwords": ("SASL_PLAINTEXT://127.0.0.1:0", "none"),
    "passwords over TLS": ("SASL_SSL://127.0.0.1:0", "none"),
    "certificates": ("SSL://127.0.0.1:0", "required"),
}


@pytest.mark.parametrize("name", LISTENERS)
def test_the_registry_works_and_asks_for_a_login(name: str, tmp_path: Path) -> None:
    listen, client_auth = LISTENERS[name]
    made = certificates.make(tmp_path / "certificates")
    settings = made.settings(client_auth) if "SSL" in listen else {}

    with running(tmp_path, listen, settings) as (_, url, log):
        versions = "/subjects/orders-value/versions"
        assert status(url, None, "GET", "/subjects")[0] == 401
        assert status(url, basic("admin", "wrong"), "GET", "/subjects")[0] == 401
        assert status(url, basic("registry", "guess"), "GET", "/subjects")[0] == 401
        assert status(url, ADMINS, "POST", versions, SCHEMA) == (200, {"id": 1})
        assert status(url, ADMINS, "GET", versions) == (200, [1])
    assert ADMIN not in log.read_text()


def test_users_of_the_broker_are_users_of_its_registry(tmp_path: Path) -> None:
    with running(tmp_path, "SASL_PLAINTEXT://127.0.0.1:0", {}) as (broker, url, _):
        admin = Administrator(broker, properties_file(tmp_path))
        alice = basic("alice", "alices-secret")
        admin("users", "add", "alice", "--password-file", "-", typed="alices-secret")
        wait_until(lambda: status(url, alice, "GET", "/subjects") == (200, []), "the change counts")
        assert status(url, alice, "POST", "/subjects/a/versions", SCHEMA)[0] == 403

        admin("acls", "add", "--allow", "User:alice", "--operation", "WRITE", "--subject", "a")
        wait_until(
            lambda: status(url, alice, "POST", "/subjects/a/versions", SCHEMA)[0] == 200,
            "the change counts",
        )


@pytest.mark.parametrize("encrypted", [False, True])
def test_the_broker_asks_its_registry_about_the_ids_of_records(
    tmp_path: Path,
    encrypted: bool,  # noqa: FBT001
) -> None:
    made = certificates.make(tmp_path / "certificates")
    tls = ("--registry-tls-cert", str(made.server), "--registry-ca-file", str(made.ca))
    more = tls if encrypted else ()
    with running(tmp_path, "SASL_PLAINTEXT://127.0.0.1:0", {}, *more) as (broker, url, _):
        assert url.startswith("https://" if encrypted else "http://")
        brokers = client_profile(settings_of("admin", ADMIN)).brokers(broker)
        checked = {"confluent.value.schema.validation": "true"}
        admin = AdminClient(brokers.client())
        created = admin.create_topics([NewTopic("a", 1, 1, config=checked)])
        created["a"].result(60)
        (address,) = addresses_of(url)
        asked = Requests((replace(address, user=f"admin:{ADMIN}", authorities=made.ca),))
        assert asked.post("/subjects/a-value/versions", dict(SCHEMA)) == {"id": 1}
        codes: list[int | None] = []
        producer = Producer(brokers.client())

        for schema_id in (1, 99):
            value = b"\0" + schema_id.to_bytes(4) + b"\2a"
            producer.produce(
                "a",
                value,
                on_delivery=lambda error, _: codes.append(error.code() if error else None),
            )
            assert producer.flush(60) == 0

    assert codes == [None, KafkaError.INVALID_RECORD]


def test_no_user_enters_by_the_listener_of_the_registry(tmp_path: Path) -> None:
    with running(tmp_path, "SASL_PLAINTEXT://127.0.0.1:0", {}) as (broker, _, log):
        rows = [json.loads(row) for row in log.read_text().splitlines() if row.startswith("{")]
        [inner] = [row["address"] for row in rows if row.get("listener") == "inner"]
        for address, user, password in ((inner, "admin", ADMIN), (broker, "registry", "guess")):
            properties = settings_of(user, password)
            with pytest.raises(LoginRefused):
                ensure_login(client_profile(properties).brokers(address), 60)

        resource = ConfigResource(ResourceType.BROKER, "0")
        admin = AdminClient(client_profile(settings_of("admin", ADMIN)).brokers(broker).client())
        described = admin.describe_configs([resource])[resource]
        assert "inner" not in str(described.result(60)["listeners"].value)


def test_without_an_authorizer_the_start_is_refused_in_words(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "duolog", "broker", "--data", str(tmp_path / "data")]
    command += ["--listen", "SASL_PLAINTEXT://127.0.0.1:0", "--registry", "127.0.0.1:0"]

    ended = subprocess.run(command, capture_output=True, timeout=120, check=False, text=True)

    assert ended.returncode != 0
    assert "authorizer.class.name=acl" in ended.stderr
    assert "Traceback" not in ended.stderr


def settings_of(user: str, password: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": password,
    }
