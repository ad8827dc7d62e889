"""The commands and clients of Duolog on a secured Apache Kafka, without a JVM of their own.

Each error must name the setting, within seconds, and after one attempt: a client that repeats a
refused login floods the log of a broker, and may lock the user out.
"""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AclOperation, NewTopic, ResourceType

from conformance.kafka.certificates import Authority
from conformance.kafka.secured_peer import SecuredPeer
from duolog.core.errors import DuologError
from duolog.runtime.broker_probe import ensure_reachable
from duolog.runtime.broker_watch import BrokerWatch
from duolog.runtime.errors import BrokerUnavailable, LoginRefused
from duolog.runtime.sql.engine import SqlEngine
from duolog.security.clients.profiles import brokers_of

# A client that retried for ever would not end.
pytestmark = pytest.mark.timeout(120)

PASSWORD: Final = "planted-4Xw0-password"  # noqa: S105 - planted, to be looked for
WITHIN_S: Final = 60.0
DENIED: Final = 4


@pytest.fixture(scope="module")
def peer(secured_peer: SecuredPeer) -> SecuredPeer:
    secured_peer.add_user("clerk", PASSWORD)
    admin = secured_peer.admin()
    for future in admin.create_topics([NewTopic("letters", 1)]).values():
        future.result(60)
    return secured_peer


def duolog(*words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "duolog", *words]
    return subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=WITHIN_S, check=False
    )


def refusal(peer: SecuredPeer, properties: dict[str, str], servers: str = "") -> DuologError:
    """Return the error of a login with these properties."""
    with pytest.raises(DuologError) as caught:
        ensure_reachable(brokers_of(servers or peer.bootstrap_servers, properties))
    assert PASSWORD not in caught.value.render()
    return caught.value


def test_records_are_produced_and_consumed_by_a_file_of_properties(
    peer: SecuredPeer, tmp_path: Path
) -> None:
    file = peer.write_properties(tmp_path / "client.properties")
    options = ("-b", peer.bootstrap_servers, "--client-properties", str(file))

    produced = duolog("produce", "letters", *options, given="a letter\n")
    consumed = duolog("consume", "letters", *options, "--from-beginning", "-n", "1", "-f", "%v")

    assert (produced.returncode, produced.stderr) == (
        0,
        'produced 1 record to topic "letters"\n',
    )
    assert (consumed.returncode, consumed.stdout.strip()) == (0, "a letter")


def test_a_profile_names_the_cluster(
    peer: SecuredPeer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "duolog").mkdir()
    peer.write_properties(tmp_path / "duolog" / "peer.properties")
    (tmp_path / "duolog" / "profiles.toml").write_text(
        f'[peer]\n"bootstrap.servers" = "{peer.bootstrap_servers}"\n'
        '"client.properties" = "peer.properties"\n'
    )

    listed = duolog("topics", "list", "--profile", "peer", "-o", "json")

    assert "letters" in {row["topic"] for row in json.loads(listed.stdout)}


def test_the_environment_names_the_properties(
    peer: SecuredPeer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = peer.write_properties(tmp_path / "client.properties")
    monkeypatch.setenv("DUOLOG_CLIENT_PROPERTIES", str(file))
    monkeypatch.setenv("DUOLOG_BOOTSTRAP_SERVERS", peer.bootstrap_servers)

    assert "letters" in duolog("topics", "list").stdout


def test_a_client_certificate_is_a_login(peer: SecuredPeer) -> None:
    mutual = {
        "security.protocol": "SSL",
        "ssl.truststore.location": str(peer.authority.certificate),
        "ssl.keystore.location": str(peer.authority.sign("ann")),
    }

    ensure_reachable(brokers_of(peer.mutual_servers, mutual))


def test_sql_reads_and_writes_without_a_jvm(peer: SecuredPeer, tmp_path: Path) -> None:
    brokers = brokers_of(peer.bootstrap_servers, peer.properties())
    with SqlEngine(brokers, data=tmp_path, service_id="secured_") as engine:
        list(
            engine.execute(
                "CREATE TABLE desks (id STRING PRIMARY KEY, clerk STRING) WITH "
                "(KAFKA_TOPIC='desks', VALUE_FORMAT='JSON', PARTITIONS=1);"
                "INSERT INTO desks VALUES ('a', 'ann');"
            )
        )
    with SqlEngine(brokers, data=tmp_path, service_id="secured_") as engine:
        (rows,) = engine.execute("SELECT * FROM desks WHERE id = 'a';")

    assert list(rows.rows) == [("a", "ann")]  # type: ignore[union-attr]
    assert "s3cret" not in repr(engine.brokers)


def test_a_wrong_password_is_refused_after_one_attempt(peer: SecuredPeer, tmp_path: Path) -> None:
    file = peer.write_properties(tmp_path / "wrong.properties", "clerk", "not-the-password")
    with counting(peer.bootstrap_servers) as proxy:
        refused = duolog("topics", "list", "-b", proxy.servers, "--client-properties", str(file))

    assert refused.returncode == DENIED
    assert 'refuses the login of user "clerk"' in refused.stderr
    assert "sasl.password" in refused.stderr
    assert str(file) in refused.stderr
    assert "not-the-password" not in refused.stderr
    # The first only checks that the port is open.
    assert proxy.accepted <= 3


def test_a_certificate_of_another_authority_is_refused(peer: SecuredPeer, tmp_path: Path) -> None:
    other = {"ssl.truststore.location": str(Authority(tmp_path).certificate)}

    error = refusal(peer, peer.properties("clerk", PASSWORD) | other)

    assert isinstance(error, LoginRefused)
    assert "ssl.truststore.location" in error.hint


def test_a_certificate_for_another_host_is_refused_unless_allowed(peer: SecuredPeer) -> None:
    servers = peer.bootstrap_servers.replace("127.0.0.1", "localhost")
    any_host = {"ssl.endpoint.identification.algorithm": ""}

    error = refusal(peer, peer.properties(), servers)
    ensure_reachable(brokers_of(servers, peer.properties() | any_host))

    assert "bootstrap.servers" in error.hint


def test_a_missing_client_certificate_is_named(peer: SecuredPeer) -> None:
    mutual = {
        "security.protocol": "SSL",
        "ssl.truststore.location": str(peer.authority.certificate),
    }

    error = refusal(peer, mutual, peer.mutual_servers)

    assert isinstance(error, LoginRefused)
    assert "ssl.keystore.location" in error.hint


def test_an_unknown_user_gets_the_error_of_a_wrong_password(peer: SecuredPeer) -> None:
    unknown = refusal(peer, peer.properties("nobody", PASSWORD))
    wrong = refusal(peer, peer.properties("clerk", "wrong"))

    assert isinstance(unknown, LoginRefused)
    assert unknown.detail == wrong.detail
    assert "sasl.username" in unknown.hint


def test_a_client_without_security_is_told_of_it(peer: SecuredPeer) -> None:
    error = refusal(peer, {})

    assert isinstance(error, BrokerUnavailable)
    assert "--client-properties" in error.hint


def test_a_missing_right_is_named(peer: SecuredPeer, tmp_path: Path) -> None:
    file = peer.write_properties(tmp_path / "client.properties", "clerk", PASSWORD)
    options = ("-b", peer.bootstrap_servers, "--client-properties", str(file))
    peer.allow("User:clerk", ResourceType.TOPIC, "letters", AclOperation.DESCRIBE)

    # Without Write on any topic, a producer gets no id.
    refused = duolog("produce", "letters", *options, given="a\n")
    assert refused.returncode == DENIED
    assert "kafka-acls.sh" in refused.stderr

    peer.allow("User:clerk", ResourceType.TOPIC, "others", AclOperation.WRITE)
    refused = duolog("produce", "letters", *options, given="a\n")

    assert refused.returncode == DENIED
    assert "TOPIC_AUTHORIZATION_FAILED" in refused.stderr
    assert "kafka-acls.sh" in refused.stderr
    assert PASSWORD not in refused.stderr + refused.stdout


def test_a_secret_on_the_command_line_is_refused(peer: SecuredPeer) -> None:
    refused = duolog(
        "topics", "list", "-b", peer.bootstrap_servers, "-X", f"sasl.password={PASSWORD}"
    )

    assert refused.returncode == 2
    assert "--client-properties" in refused.stderr
    assert PASSWORD not in refused.stderr


def test_a_watch_sees_a_broker_with_tls(peer: SecuredPeer) -> None:
    watch = BrokerWatch(brokers_of(peer.bootstrap_servers, peer.properties()), "waits")

    assert watch.look() == []
    assert watch.answers


class Proxy:
    """Forwards connections to a broker, and counts them."""

    def __init__(self, to: str) -> None:
        self._to = to
        self._server = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.servers = f"127.0.0.1:{self._server.getsockname()[1]}"
        self.accepted = 0

    def serve(self) -> None:
        host, _, port = self._to.rpartition(":")
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                self.accepted += 1
                broker = socket.create_connection((host, int(port)))
                self._open += [client, broker]
                for ends in ((client, broker), (broker, client)):
                    threading.Thread(target=forward, args=ends, daemon=True).start()

    def end(self) -> None:
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        for one in (self._server, *self._open):
            one.close()


def forward(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def counting(servers: str) -> Iterator[Proxy]:
    proxy = Proxy(servers)
    threading.Thread(target=proxy.serve, daemon=True).start()
    yield proxy
    proxy.end()
