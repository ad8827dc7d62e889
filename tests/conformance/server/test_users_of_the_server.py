"""A SQL server that takes users, tokens and rights from a Duolog broker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.registry.secured import Administrator, basic, properties_file, secured_broker
from conformance.server.processes import SqlServerProcess, ask
from duolog.runtime.broker_process import BrokerProcess
from waiting import wait_until

ALICE = "alices-secret"
SERVER = "servers-secret"
ADMIN = basic("admin", "admins-secret")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with secured_broker(tmp_path) as running:
        yield running


def add_server_user(admin: Administrator) -> None:
    admin("users", "add", "server", "--password-file", "-", typed=SERVER)
    for right in (
        ("--operation", "CLUSTER_ACTION", "--cluster"),
        ("--operation", "ALL", "--topic", "*"),
        ("--operation", "ALL", "--group", "*"),
    ):
        admin("acls", "add", "--allow", "User:server", *right)


def test_users_tokens_rights_and_sessions(broker: BrokerProcess, tmp_path: Path) -> None:
    admin = Administrator(broker.bootstrap_servers, properties_file(tmp_path))
    add_server_user(admin)
    file = properties_file(tmp_path, "server", SERVER)
    options = ("--client-properties", str(file), "--cluster-users")
    with SqlServerProcess(broker.bootstrap_servers, tmp_path, *options) as server:
        alice = basic("alice", ALICE)
        assert ask(server, "/info")[0] == 401
        assert ask(server, "/info", alice)[0] == 401
        assert ask(server, "/nope")[0] == 401
        assert ask(server, "/chc/live")[:2] == (200, {})

        admin("users", "add", "alice", "--password-file", "-", typed=ALICE)
        wait_until(lambda: ask(server, "/info", alice)[0] == 200, "the user counts")
        assert ask(server, "/metrics", alice)[0] == 403
        assert ask(server, "/metrics", ADMIN)[0] == 200

        admin("acls", "add", "--allow", "User:alice", "--operation", "DESCRIBE", "--cluster")
        wait_until(lambda: ask(server, "/metrics", alice)[0] == 200, "the right counts")

        token = f"Bearer {admin('tokens', 'create', 'alice').strip()}"
        wait_until(lambda: ask(server, "/info", token)[0] == 200, "the token counts")
        assert ask(server, "/session", token, method="POST")[0] == 400

        status, _, headers = ask(server, "/session", alice, method="POST")
        cookie = {"Cookie": headers["set-cookie"].partition(";")[0]}
        assert status == 204
        assert {"HttpOnly", "SameSite=Strict"} <= set(headers["set-cookie"].split("; "))
        assert ask(server, "/session", headers=cookie)[1] == {"user": "alice", "login": "session"}

        admin("users", "remove", "alice")
        wait_until(lambda: ask(server, "/session", headers=cookie)[0] == 401, "the user is gone")
        wait_until(lambda: ask(server, "/info", token)[0] == 401, "the token is gone, too")
        log = server.log_path.read_text()
    assert "user=alice" in log
    assert ALICE not in log
    assert cookie["Cookie"].partition("=")[2] not in log


def test_rules_about_sources_are_kept_in_the_topic(broker: BrokerProcess, tmp_path: Path) -> None:
    admin = Administrator(broker.bootstrap_servers, properties_file(tmp_path))
    rule = ("--allow", "User:alice", "--operation", "READ")

    admin("acls", "add", *rule, "--source", "TOTALS", "--source-prefix", "SALES_")
    admin("acls", "add", *rule, "--source", "*", "--service-id", "other_")
    listed = admin("acls", "list-sources", "-o", "csv")

    assert "source,default_.TOTALS,literal,allow,READ,User:alice,*" in listed
    assert "source,default_.SALES_,prefixed,allow,READ,User:alice,*" in listed
    assert "source,*,literal,allow,READ,User:alice,*" in listed

    admin("acls", "remove", *rule, "--source", "TOTALS")
    assert "TOTALS" not in admin("acls", "list-sources", "-o", "csv")
    assert admin("acls", "list", "-o", "csv").count("\nsource,") == 0
