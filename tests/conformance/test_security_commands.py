"""`duolog users`, `acls` and `tokens` against a broker with logins and rights."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.administration import (
    ALICES,
    TIMEOUT_S,
    administered,
    as_admin,
    duolog,
    listed,
    login,
    properties_file,
)
from duolog.runtime.broker_process import BrokerProcess


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with administered(tmp_path) as process:
        yield process


def produces(broker: BrokerProcess, properties: dict[str, Any]) -> object:
    """Return None if a record is accepted, else the error."""
    errors: list[object] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, **properties})
    producer.produce("orders", b"1", on_delivery=lambda error, _message: errors.append(error))
    assert producer.flush(TIMEOUT_S) == 0
    return errors[0]


def test_users_are_added_changed_and_removed(broker: BrokerProcess, tmp_path: Path) -> None:
    as_admin(broker, "users", "add", "alice", "--password-file", "-", typed=f"{ALICES}\n")
    assert {row["user"] for row in listed(broker, "users", "list")} == {"admin", "alice"}
    server = {"bootstrap.servers": broker.bootstrap_servers}
    AdminClient({**server, **login("alice", ALICES)}).list_topics(timeout=TIMEOUT_S)

    path = tmp_path / "changed"
    path.write_text("changed-secret\n")
    as_admin(broker, "users", "password", "alice", "--password-file", str(path))
    old = ("--client-properties", properties_file(broker, "alice", ALICES))
    assert duolog("topics", "list", "-b", broker.bootstrap_servers, *old).returncode != 0
    AdminClient({**server, **login("alice", "changed-secret")}).list_topics(timeout=TIMEOUT_S)

    as_admin(broker, "users", "remove", "alice")
    assert {row["user"] for row in listed(broker, "users", "list")} == {"admin"}


def test_rules_roles_and_tokens_give_rights_and_take_them(broker: BrokerProcess) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, **login()})
    admin.create_topics([NewTopic("orders", 1, 1)])["orders"].result(TIMEOUT_S)
    as_admin(broker, "users", "add", "alice", "--password-file", "-", typed=ALICES)
    rule = ("--allow", "Role:writers", "--operation", "write", "--topic", "ord", "--prefix")

    as_admin(broker, "acls", "add", *rule)
    as_admin(broker, "users", "roles", "add", "alice", "writers")
    assert produces(broker, login("alice", ALICES)) is None

    [row] = listed(broker, "acls", "list")
    assert row == {
        "resource": "topic",
        "name": "ord",
        "pattern": "prefixed",
        "permission": "allow",
        "operation": "WRITE",
        "principal": "Role:writers",
        "host": "*",
    }
    members = [(row["role"], row["member"]) for row in listed(broker, "users", "roles", "list")]
    assert members == [("administrators", "User:admin"), ("writers", "User:alice")]

    text = as_admin(broker, "tokens", "create", "alice", "--expires", "1d").strip()
    assert text.startswith("duolog_")
    assert produces(broker, bearer(text)) is None

    [token] = listed(broker, "tokens", "list")
    assert token["principal"] == "User:alice"
    assert text not in json.dumps(token)
    as_admin(broker, "tokens", "revoke", token["id"])
    assert listed(broker, "tokens", "list") == []

    as_admin(broker, "users", "roles", "remove", "alice", "writers")
    as_admin(broker, "acls", "remove", *rule)
    assert listed(broker, "acls", "list") == []


def bearer(text: str) -> dict[str, Any]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _config: (text, 2e9),
    }


def test_rules_about_subjects_are_kept_in_the_topic(broker: BrokerProcess) -> None:
    rule = ("--deny", "User:eve", "--operation", "READ", "--subject", "orders-value")

    as_admin(broker, "acls", "add", *rule)
    [row] = listed(broker, "acls", "list-subjects")
    assert (row["resource"], row["permission"], row["principal"]) == ("subject", "deny", "User:eve")

    as_admin(broker, "acls", "remove", *rule)
    assert listed(broker, "acls", "list-subjects") == []

    prefix = ("--allow", "Role:r", "--operation", "READ", "--subject-prefix", ":.:orders-")
    as_admin(broker, "acls", "add", *prefix, "--subject", "a")
    rows = listed(broker, "acls", "list-subjects")
    assert sorted((row["name"], row["pattern"]) for row in rows) == [
        ("a", "literal"),
        ("orders-", "prefixed"),
    ]


def test_a_second_bootstrap_is_refused(broker: BrokerProcess, tmp_path: Path) -> None:
    broker.stop()
    result = duolog(
        "users", "bootstrap", str(tmp_path / "data"), "--user", "eve", "--password-file",
        str(tmp_path / "password"),
    )  # fmt: skip

    assert result.returncode != 0
    assert "had a first administrator already" in result.stderr


def test_a_short_password_is_refused(tmp_path: Path) -> None:
    result = duolog(
        "users", "bootstrap", str(tmp_path / "d"), "--password-file", "-", typed="short"
    )

    assert result.returncode != 0
    assert "too short" in result.stderr
    assert "short\n" not in result.stderr.replace("too short", "")
