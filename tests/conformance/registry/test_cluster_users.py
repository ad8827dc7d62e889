"""A registry that takes users, tokens and rights from a Duolog broker."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.registry.clients import record_schema
from conformance.registry.secured import (
    SETTINGS,
    Administrator,
    basic,
    properties_file,
    secured_broker,
    status,
)
from duolog.runtime.broker_process import BrokerProcess
from duolog.runtime.errors import RegistryUnavailable
from duolog.runtime.registry_process import RegistryProcess
from waiting import wait_until

ALICE = "alices-secret"
REGISTRY = "registrys-secret"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with secured_broker(tmp_path) as running:
        yield running


@pytest.fixture
def admin(broker: BrokerProcess, tmp_path: Path) -> Administrator:
    return Administrator(broker.bootstrap_servers, properties_file(tmp_path))


def registry_of(broker: BrokerProcess, path: Path, *arguments: str) -> RegistryProcess:
    """Return a registry whose own user has the rights that it needs."""
    file = properties_file(path, "registry", REGISTRY)
    options = ("--client-properties", str(file), "--cluster-users", *arguments)
    return RegistryProcess(
        broker.bootstrap_servers, arguments=options, log_path=path / "registry.log"
    )


def add_registry_user(admin: Administrator) -> None:
    admin("users", "add", "registry", "--password-file", "-", typed=REGISTRY)
    user = ("--allow", "User:registry")
    rights = (
        ("--operation", "CLUSTER_ACTION", "--cluster"),
        ("--operation", "ALL", "--topic", "_schemas"),
        ("--operation", "READ", "--group", "schema-registry", "--prefix"),
        ("--operation", "WRITE", "--transactional-id", "schema-registry", "--prefix"),
    )
    for right in rights:
        admin("acls", "add", *user, *right)


def test_users_tokens_and_rights_count_without_a_restart(
    broker: BrokerProcess, admin: Administrator, tmp_path: Path
) -> None:
    add_registry_user(admin)
    with registry_of(broker, tmp_path) as registry:
        url, schema = registry.url, {"schema": record_schema("R")}
        versions = "/subjects/orders-value/versions"
        alice = basic("alice", ALICE)
        assert status(url, None, "GET", "/subjects")[0] == 401
        assert status(url, alice, "GET", "/subjects")[0] == 401

        admin("users", "add", "alice", "--password-file", "-", typed=ALICE)
        wait_until(lambda: status(url, alice, "GET", "/subjects")[0] == 200, "the change counts")
        assert status(url, alice, "POST", versions, schema)[0] == 403

        rule = ("--allow", "User:alice", "--operation", "WRITE", "--operation", "READ")
        admin("acls", "add", *rule, "--subject-prefix", "orders-")
        wait_until(
            lambda: status(url, alice, "POST", versions, schema)[0] == 200, "the change counts"
        )
        assert status(url, alice, "GET", "/subjects") == (200, ["orders-value"])
        assert status(url, alice, "DELETE", "/subjects/orders-value")[0] == 403
        other = basic("admin", "admins-secret")
        assert status(url, other, "POST", "/subjects/secret/versions", schema)[0] == 200
        assert status(url, alice, "GET", "/subjects") == (200, ["orders-value"])

        token = f"Bearer {admin('tokens', 'create', 'alice').strip()}"
        wait_until(
            lambda: status(url, token, "GET", "/subjects") == (200, ["orders-value"]),
            "the change counts",
        )
        [row] = json.loads(admin("tokens", "list", "-o", "json"))
        admin("tokens", "revoke", row["id"])
        wait_until(lambda: status(url, token, "GET", "/subjects")[0] == 401, "the change counts")

        admin("acls", "remove", *rule, "--subject-prefix", "orders-")
        wait_until(lambda: status(url, alice, "GET", versions)[0] == 404, "the change counts")
        admin("users", "remove", "alice")
        wait_until(lambda: status(url, alice, "GET", "/subjects")[0] == 401, "the change counts")


def test_the_last_users_stay_in_force_while_the_broker_is_away(
    broker: BrokerProcess, admin: Administrator, tmp_path: Path
) -> None:
    add_registry_user(admin)
    alice = basic("alice", ALICE)
    admin("users", "add", "alice", "--password-file", "-", typed=ALICE)
    with registry_of(broker, tmp_path, "--log-format", "json") as registry:
        log = tmp_path / "registry.log"
        assert status(registry.url, alice, "GET", "/subjects")[0] == 200
        age = "/v1/metadata/users"
        assert status(registry.url, alice, "GET", age)[1]["reachable"] is True

        servers = broker.bootstrap_servers
        broker.stop()
        wait_until(lambda: "the last ones stay in force" in log.read_text(), "the warning")
        assert status(registry.url, alice, "GET", "/subjects")[0] == 200
        assert status(registry.url, basic("alice", "wrong"), "GET", "/subjects")[0] == 401
        assert status(registry.url, alice, "GET", age)[1]["reachable"] is False

        with BrokerProcess(broker.data_dir, f"SASL_PLAINTEXT://{servers}", SETTINGS):
            wait_until(lambda: "are read again" in log.read_text(), "the end of the absence")
            admin("users", "remove", "alice")
            wait_until(
                lambda: status(registry.url, alice, "GET", "/subjects")[0] == 401,
                "the change counts",
            )


def test_a_registry_without_the_right_to_read_users_does_not_start(
    broker: BrokerProcess, admin: Administrator, tmp_path: Path
) -> None:
    admin("users", "add", "registry", "--password-file", "-", typed=REGISTRY)
    admin("acls", "add", "--allow", "User:registry", "--operation", "ALL", "--topic", "*")

    with pytest.raises(RegistryUnavailable) as refused:
        registry_of(broker, tmp_path).start()

    assert "CLUSTER_ACTION" in refused.value.detail
    assert REGISTRY not in refused.value.detail
