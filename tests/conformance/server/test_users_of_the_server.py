"""A SQL server that takes users, tokens and rights from a Duolog broker."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
        assert ask(server, "/session", headers=cookie)[1] == {
            "user": "alice",
            "login": "session",
            "users": True,
        }

        admin("users", "remove", "alice")
        wait_until(lambda: ask(server, "/session", headers=cookie)[0] == 401, "the user is gone")
        wait_until(lambda: ask(server, "/info", token)[0] == 401, "the token is gone, too")
        log = server.log_path.read_text()
    assert "user=alice" in log
    assert ALICE not in log
    assert cookie["Cookie"].partition("=")[2] not in log


def test_rights_decide_about_statements_and_rows(broker: BrokerProcess, tmp_path: Path) -> None:
    admin = Administrator(broker.bootstrap_servers, properties_file(tmp_path))
    add_server_user(admin)
    for user in ("alice", "bob"):
        admin("users", "add", user, "--password-file", "-", typed=ALICE)
    for topic in ("orders", "vault"):
        admin("topics", "create", topic)
    alice = ("--allow", "User:alice")
    admin("acls", "add", *alice, "--operation", "READ", "--source", "ORDERS", "--topic", "orders")
    admin("acls", "add", *alice, "--operation", "CREATE", "--source-prefix", "MY_")
    file = properties_file(tmp_path, "server", SERVER)
    options = ("--client-properties", str(file), "--cluster-users")
    with SqlServerProcess(broker.bootstrap_servers, tmp_path, *options) as server:

        def post(path: str, user: str, **body: object) -> tuple[int, Any]:
            password = "admins-secret" if user == "admin" else ALICE
            text = json.dumps(body).encode()
            found = ask(server, path, basic(user, password), method="POST", body=text)
            return found[0], found[1]

        def run(user: str, sql: str) -> tuple[int, Any]:
            return post("/ksql", user, ksql=sql)

        def names(user: str, kind: str, member: str) -> list[str]:
            status, (entity,) = run(user, f"SHOW {kind};")
            assert status == 200
            return sorted(one["name"] for one in entity[member])

        wait_until(lambda: run("bob", "SHOW STREAMS;")[0] == 200, "the users count")
        for name in ("orders", "vault"):
            declared = (
                f"CREATE STREAM {name} (id INT) WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON');"
            )
            assert run("admin", declared)[0] == 200
        assert names("admin", "STREAMS", "streams") == ["ORDERS", "VAULT"]
        assert names("alice", "STREAMS", "streams") == ["ORDERS"]
        assert names("bob", "STREAMS", "streams") == []
        assert names("alice", "TOPICS", "topics") == ["orders"]
        assert {"orders", "vault"} <= set(names("admin", "TOPICS", "topics"))

        created = {f"stream/`{name}`/create": "SUCCESS" for name in ("ORDERS", "VAULT")}
        assert ask(server, "/status", ADMIN)[1] == {"commandStatuses": created}
        seen = ask(server, "/status", basic("alice", ALICE))[1]
        assert seen == {"commandStatuses": {"stream/`ORDERS`/create": "SUCCESS"}}
        for name, status in (("ORDERS", 200), ("VAULT", 404), ("MISSING", 404)):
            path = f"/status/stream/%60{name}%60/create"
            assert ask(server, path, basic("alice", ALICE))[0] == status

        refused = (403, "You are forbidden from using this cluster.")
        for sql in (
            "DESCRIBE VAULT;",
            "DESCRIBE MISSING;",
            "DROP STREAM ORDERS;",
            "INSERT INTO ORDERS (id) VALUES (1);",
            "CREATE STREAM MY_VAULT (id INT) WITH (KAFKA_TOPIC='vault', VALUE_FORMAT='JSON');",
            "CREATE STREAM MY_VAULT AS SELECT * FROM VAULT;",
            "CREATE FUNCTION f FROM 'os.getcwd';",
            "TERMINATE ALL;",
        ):
            status, error = run("alice", sql)
            assert (status, error["message"]) == refused, sql
        for user, sql in (
            ("alice", "SELECT * FROM VAULT EMIT CHANGES;"),
            ("alice", "PRINT vault FROM BEGINNING;"),
            ("bob", "SELECT * FROM ORDERS EMIT CHANGES;"),
        ):
            status, error = post("/query-stream", user, sql=sql, properties={})
            assert (status, error["message"]) == refused, sql

        elsewhere = {"ksql.schema.registry.url": "http://127.0.0.1:1"}
        for path, body in (("/ksql", {"ksql": "SHOW STREAMS;"}), ("/query", {"ksql": "SELECT 1;"})):
            status, error = post(path, "admin", streamsProperties=elsewhere, **body)
            assert (status, "prohibited" in error["message"]) == (400, True)

        assert run("alice", "RUN SCRIPT '/etc/passwd';")[0] == 400
        assert run("admin", "RUN SCRIPT '/etc/passwd';")[0] == 400
        assert run("admin", "INSERT INTO ORDERS (id) VALUES (7);")[0] == 200
        status, rows = post("/query", "alice", ksql="SELECT * FROM ORDERS LIMIT 1;")
        assert status == 200
        assert '"columns":[7]' in json.dumps(rows, separators=(",", ":"))
        mine = "CREATE STREAM MY_ORDERS (id INT) WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON');"
        assert run("alice", mine)[0] == 200


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
