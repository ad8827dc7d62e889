"""`duolog users`, `acls` and `tokens` against a broker with logins and rights."""

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.administration import (
    ALICES,
    SECRET,
    TIMEOUT_S,
    administered,
    as_admin,
    as_user,
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
    created, expires = (
        datetime.fromisoformat(token[f"{each}_at"]) for each in ("created", "expires")
    )
    assert expires - created == timedelta(days=1)
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


def test_the_last_administrator_is_not_removed_by_mistake(broker: BrokerProcess) -> None:
    """After that, no user could add another one."""
    alone = as_user(broker, "admin", SECRET, "users", "remove", "admin")
    leaving = as_user(
        broker, "admin", SECRET, "users", "roles", "remove", "admin", "administrators"
    )
    assert (alone.returncode, leaving.returncode) == (6, 6), (alone, leaving)
    assert 'user "admin" is the last administrator with a password' in alone.stderr

    as_admin(broker, "users", "add", "alice", "--password-file", "-", typed=ALICES)
    as_admin(broker, "users", "remove", "alice")
    as_admin(broker, "users", "add", "alice", "--password-file", "-", typed=ALICES)
    as_admin(broker, "users", "roles", "add", "alice", "administrators")
    as_admin(broker, "users", "remove", "admin")
    forced = as_user(broker, "alice", ALICES, "users", "remove", "alice", "--force")
    assert forced.returncode == 0, forced


def test_a_lost_administrator_is_recovered_in_the_data_directory(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    as_admin(broker, "users", "add", "alice", "--password-file", "-", typed=ALICES)
    as_admin(broker, "users", "remove", "admin", "--force")
    data = str(tmp_path / "data")
    running = duolog("users", "recover", data, "--password-file", "-", typed="newer-secret")
    assert running.returncode == 6, running
    broker.stop()

    recovered = duolog("users", "recover", data, "--password-file", "-", typed="newer-secret")
    assert recovered.returncode == 0, recovered
    broker.start()

    listed_again = as_user(broker, "admin", "newer-secret", "users", "list", "-o", "json")
    assert {row["user"] for row in json.loads(listed_again.stdout)} == {"admin", "alice"}
    members = as_user(broker, "admin", "newer-secret", "users", "roles", "list", "-o", "json")
    assert [row["member"] for row in json.loads(members.stdout)] == ["User:admin"]


def test_recovery_makes_no_data_directory(tmp_path: Path) -> None:
    missing = tmp_path / "mistyped"

    refused = duolog("users", "recover", str(missing), "--password-file", "-", typed="secret-12")

    assert refused.returncode == 2, refused
    assert "is not the data directory of a broker" in refused.stderr
    assert not missing.exists()


def test_a_password_that_others_can_read_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text(SECRET)
    words = ("users", "bootstrap", "--password-file", str(path))

    path.chmod(0o644)
    exposed = duolog(*words, str(tmp_path / "a"))
    path.chmod(0o600)
    private = duolog(*words, str(tmp_path / "b"))

    assert (exposed.returncode, private.returncode) == (0, 0), (exposed, private)
    assert f"other users can use the password in {path}; run chmod 600 on it" in exposed.stderr
    assert "chmod" not in private.stderr


def test_without_a_terminal_the_command_says_how_to_give_the_password(tmp_path: Path) -> None:
    """It warned that the password may be echoed, and ended as if by Ctrl-C."""
    refused = subprocess.run(
        [sys.executable, "-P", "-m", "duolog", "users", "bootstrap", str(tmp_path / "data")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        start_new_session=True,  # Without a controlling terminal.
    )

    assert refused.returncode == 2, refused
    assert "there is no terminal to ask for the password" in refused.stderr
    assert "Warning" not in refused.stderr


def test_a_broker_without_users_says_what_is_missing(broker: BrokerProcess, tmp_path: Path) -> None:
    lonely = BrokerProcess(tmp_path / "lonely", "SASL_PLAINTEXT://127.0.0.1:0")
    with lonely:
        pass

    assert "no user can log in" in lonely.log_path.read_text()
    assert "duolog users bootstrap" in lonely.log_path.read_text()
    assert "no user can log in" not in broker.log_path.read_text()


def test_a_short_password_is_refused(tmp_path: Path) -> None:
    result = duolog(
        "users", "bootstrap", str(tmp_path / "d"), "--password-file", "-", typed="short"
    )

    assert result.returncode != 0
    assert "too short" in result.stderr
    assert "short\n" not in result.stderr.replace("too short", "")
