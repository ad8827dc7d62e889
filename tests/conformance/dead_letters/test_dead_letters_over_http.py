"""Dead letters of a SQL server, without and with users."""

import http.client
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from conformance.dead_letters import letters
from conformance.registry.secured import (
    ADMIN,
    Administrator,
    basic,
    properties_file,
    secured_broker,
)
from conformance.server.processes import TIMEOUT_S, SqlServerProcess, ask
from duolog.testing import Client, EmbeddedCluster
from waiting import wait_until

SECRET = "a-long-secret"  # noqa: S105 - of users of this test only
LOGIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "admin",
    "sasl.password": ADMIN,
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        yield running


@pytest.fixture(scope="module")
def server(
    cluster: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SqlServerProcess]:
    path = tmp_path_factory.mktemp("server")
    with SqlServerProcess(cluster.bootstrap_servers, path) as running:
        yield running


@pytest.fixture
def names(cluster: EmbeddedCluster, request: pytest.FixtureRequest) -> tuple[str, str]:
    """Return a dead-letter topic with three letters, and their source topic."""
    word = f"t{abs(hash(request.node.name))}"
    client = Client(cluster.bootstrap_servers)
    for name in (f"{word}-wrong", word):
        client.create_topic(name)
    letters.write(
        cluster.bootstrap_servers,
        f"{word}-wrong",
        [
            (b"a", b"EUR 1", [("trace", b"x"), *letters.streams(word, 0, 5)]),
            (b"\xff", b"\xff\x00<script>", letters.streams(word, 0, 6, "overflow")),
            (b"c", None, letters.connect(word, 0, 7)),
        ],
    )
    return f"{word}-wrong", word


def get(server: SqlServerProcess, path: str, **parameters: object) -> Any:
    status, body, _ = ask(server, f"{path}?{urlencode(parameters)}" if parameters else path)
    assert status == 200, body
    return body


def replay(server: SqlServerProcess, topic: str, **body: object) -> tuple[int, Any]:
    text = json.dumps(body).encode()
    return ask(server, f"/v1/dead-letters/{topic}/replay", method="POST", body=text)[:2]


def values(cluster: EmbeddedCluster, topic: str) -> list[bytes | None]:
    return [one[2] for one in letters.read(cluster.bootstrap_servers, topic)]


def test_topics_are_listed_with_counts(server: SqlServerProcess, names: tuple[str, str]) -> None:
    found = {one["topic"]: one for one in get(server, "/v1/dead-letters")["topics"]}

    one = found[names[0]]
    assert (one["letters"], one["replayed"], one["knownBy"]) == (3, 0, ["headers"])
    assert [(group["reason"], group["query"], group["letters"]) for group in one["groups"]] == [
        ("DataException", "to-warehouse", 1),
        ("SerializationException", "", 2),
    ]


def test_letters_are_shown_and_selected(server: SqlServerProcess, names: tuple[str, str]) -> None:
    path = f"/v1/dead-letters/{names[0]}"

    shown = get(server, path)["letters"]

    assert [one["offset"] for one in shown] == [0, 1, 2]
    assert shown[0]["value"] == {
        "text": "EUR 1",
        "format": "KAFKA_STRING",
        "bytes": 5,
        "cut": False,
    }
    assert shown[0]["source"]["offset"] == 5
    assert shown[0]["headers"][0][0] == "trace"
    assert shown[1]["value"]["format"] == "KAFKA_BYTES"
    assert shown[2]["value"] is None
    assert [one["offset"] for one in get(server, path, reason="OVER")["letters"]] == [1]
    assert [one["offset"] for one in get(server, path, offset="1..")["letters"]] == [1, 2]
    two = get(server, path, max=2)
    assert ([one["offset"] for one in two["letters"]], two["more"]) == ([0, 1], True)
    last = get(server, path, max=2, **{"continue": two["next"]})
    assert ([one["offset"] for one in last["letters"]], last["more"], last["next"]) == (
        *([2], False, None),
    )


def test_all_bytes_can_be_downloaded(server: SqlServerProcess, names: tuple[str, str]) -> None:
    def download(path: str) -> tuple[int, bytes, Mapping[str, str]]:
        host, port = server.address
        connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
        connection.request("GET", f"/v1/dead-letters/{names[0]}/{path}")
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        body = response.read()
        connection.close()
        return response.status, body, found

    status, body, headers = download("0/1/value")

    assert (status, body) == (200, b"\xff\x00<script>")
    assert headers["content-type"] == "application/octet-stream"
    assert headers["content-disposition"] == "attachment"
    assert headers["x-content-type-options"] == "nosniff"
    assert download("0/1/key")[1] == b"\xff"
    assert download("0/2/value")[0] == 204
    for missing in ("0/3/value", "1/0/value", "0/1/headers", "x/1/value", "0/-1/value"):
        assert download(missing)[0] == 404, missing


def test_letters_are_replayed_once(
    server: SqlServerProcess, cluster: EmbeddedCluster, names: tuple[str, str]
) -> None:
    dlq, source = names
    corrected = {"setValue": {"sql": "REPLACE(VALUE, 'EUR ', '')"}}

    status, preview = replay(server, dlq, dryRun=True, **corrected)
    before = values(cluster, source)
    first = replay(server, dlq, offset=0, **corrected)[1]
    second = replay(server, dlq, offset="0..1")[1]
    third = replay(server, dlq, offset="0..1")[1]

    assert (status, preview["letters"], preview["replayId"], before) == (200, 1, None, [])
    assert preview["kept"] == [{"why": "the expression for the value is null", "letters": 2}]
    assert first["written"] == [{"topic": source, "partition": 0, "letters": 1}]
    assert (first["corrected"], second["letters"], third["letters"]) == (1, 1, 0)
    assert values(cluster, source) == [b"1", b"\xff\x00<script>"]
    assert [one["replayed"] for one in get(server, f"/v1/dead-letters/{dlq}")["letters"]] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"again": True},
        {"dryRun": True},
        # No letter is written: it stays, and is selected again.
        {"setValue": {"sql": "NULL"}},
    ],
)
def test_requests_that_continue_come_to_an_end(
    server: SqlServerProcess, names: tuple[str, str], body: Mapping[str, Any]
) -> None:
    seen: list[int] = []
    rest: str | None = None
    while not seen or rest is not None:
        assert len(seen) < 5, "the series does not end"
        given: dict[str, str] = {} if rest is None else {"continue": rest}
        status, one = replay(server, names[0], max=1, **body, **given)
        assert status == 200, one
        assert one["more"] == (one["next"] is not None)
        seen.append(one["letters"] + sum(kept["letters"] for kept in one["kept"]))
        rest = one["next"]

    assert seen == [1, 1, 1]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"to": "no-such-topic"}, 'topic "no-such-topic" does not exist'),
        ({"toPartition": 1}, "partition 1 of topic"),
        ({"toPartition": "x"}, "'toPartition' is not a number"),
        ({"setValue": {"sql": "1 +"}}, ""),
        ({"setValue": {"sql": "NOPE"}}, "SQL expression for the value is invalid"),
        ({"setValue": {"base64": "?"}}, "'setValue' is not base64"),
        ({"setValue": "x"}, "'setValue' is not an object"),
        ({"setKey": {"text": "x"}, "setValue": {"sql": "VALUE"}}, "must both be SQL, or neither"),
        ({"wehre": 1}, "'wehre' is not a parameter"),
        ({"max": 10_001}, "'max' is not between"),
        ({"again": "maybe"}, "'again' is neither true nor false"),
        ({"since": -1}, "'since' is not a number"),
        ({"continue": "0:1"}, "'continue' is not the 'next' of an answer"),
        ({"continue": "0:1-x"}, "'continue' is not a number"),
    ],
)
def test_requests_that_cannot_be_carried_out_are_refused(
    server: SqlServerProcess, names: tuple[str, str], body: Mapping[str, Any], told: str
) -> None:
    status, error = replay(server, names[0], **body)

    assert status == 400
    assert told in error["message"]


def test_a_missing_topic_is_not_found(server: SqlServerProcess) -> None:
    assert ask(server, "/v1/dead-letters/missing-wrong")[0] == 404
    assert replay(server, "missing-wrong")[0] == 404
    assert ask(server, "/v1/dead-letters?newest=0")[0] == 400
    assert ask(server, "/v1/dead-letters/missing-wrong?x=1")[0] == 400


def test_users_see_and_replay_what_they_may(tmp_path: Path) -> None:
    with secured_broker(tmp_path) as broker:
        servers = broker.bootstrap_servers
        admin = Administrator(servers, properties_file(tmp_path))
        for user in ("server", "alice", "bob"):
            admin("users", "add", user, "--password-file", "-", typed=SECRET)
        for right in (
            ("--operation", "CLUSTER_ACTION", "--cluster"),
            ("--operation", "ALL", "--topic", "*"),
            ("--operation", "ALL", "--group", "*"),
            ("--operation", "ALL", "--transactional-id", "*"),
        ):
            admin("acls", "add", "--allow", "User:server", *right)
        for topic in ("orders", "vault", "orders-wrong", "vault-wrong"):
            admin("topics", "create", topic)
        letters.write(
            servers,
            "orders-wrong",
            [
                (b"a", b"1", letters.streams("orders")),
                (b"b", b"2", letters.streams("vault")),
            ],
            LOGIN,
        )
        letters.write(servers, "vault-wrong", [(b"a", b"9", letters.streams("vault"))], LOGIN)
        allow = ("acls", "add", "--allow", "User:alice")
        admin(*allow, "--operation", "READ", "--topic", "orders-wrong")
        admin(*allow, "--operation", "WRITE", "--topic", "orders")
        options = (
            *("--client-properties", str(properties_file(tmp_path, "server", SECRET))),
            "--cluster-users",
        )
        with SqlServerProcess(servers, tmp_path, *options) as server:

            def asked(user: str, path: str, **body: object) -> tuple[int, Any]:
                secret = ADMIN if user == "admin" else SECRET
                text = json.dumps(body).encode() if body else None
                method = "POST" if body else "GET"
                return ask(server, path, basic(user, secret), method=method, body=text)[:2]

            def topics(user: str) -> list[tuple[str, int]]:
                found = asked(user, "/v1/dead-letters")[1]["topics"]
                return [(one["topic"], one["letters"]) for one in found]

            wait_until(lambda: asked("alice", "/info")[0] == 200, "the users count")
            declared = (
                "CREATE STREAM secret (id INT) WITH (KAFKA_TOPIC='vault', VALUE_FORMAT='JSON');"
                "CREATE STREAM copied AS SELECT * FROM secret; SHOW QUERIES;"
            )
            status, told = asked("admin", "/ksql", ksql=declared)
            assert status == 200, told
            of_query = ("__duolog.errors.application", told[-1]["queries"][0]["id"].encode())
            third = (b"c", b"3", [*letters.streams("orders"), of_query])
            letters.write(servers, "orders-wrong", [third], LOGIN)

            assert topics("admin") == [("orders-wrong", 3), ("vault-wrong", 1)]
            # The third letter is of a query that alice may not describe.
            assert topics("alice") == [("orders-wrong", 2)]
            assert topics("bob") == []
            # Its letters are of orders and of vault, which only the administrator may write.
            for user, may in (("admin", True), ("alice", False)):
                listed = asked(user, "/v1/dead-letters")[1]["topics"]
                assert listed[0]["mayReplay"] is may, user
            shown = asked("alice", "/v1/dead-letters/orders-wrong")[1]["letters"]
            assert [one["offset"] for one in shown] == [0, 1]
            assert asked("alice", "/v1/dead-letters/orders-wrong/0/2/value")[0] == 404
            for path in ("vault-wrong", "missing", "vault-wrong/0/0/value"):
                assert asked("alice", f"/v1/dead-letters/{path}")[0] == 403, path
            path = "/v1/dead-letters/orders-wrong/replay"
            assert asked("bob", path, dryRun=True)[0] == 403
            # The second letter is from a topic that alice may not write.
            assert asked("alice", path, dryRun=True)[0] == 403
            assert asked("alice", path, again=False)[0] == 403
            assert asked("alice", path, to="vault")[0] == 403
            # She may write the target, but not read the letters.
            unread = "/v1/dead-letters/vault-wrong/replay"
            assert asked("alice", unread, to="orders", dryRun=True)[0] == 403

            status, done = asked("alice", path, source="orders")

            assert (status, done["letters"]) == (200, 1)
            assert asked("admin", path, source="orders")[1]["letters"] == 1
