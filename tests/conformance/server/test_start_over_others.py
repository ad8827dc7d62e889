"""`duolog start` over a broker or a schema registry that exists."""

import base64
import json
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

import waiting
from conformance.server.started import FREE, started
from conformance.server.test_start import children_of, get
from duolog.cli.main import main
from duolog.runtime.registry_process import RegistryProcess
from duolog.testing import EmbeddedCluster

AVRO = "CREATE STREAM s (id VARCHAR KEY, n INT) WITH (kafka_topic='{}', partitions=1, value_format='AVRO');"


def run(url: str, statement: str, user: str = "", ca: Path | None = None) -> Any:
    """Run a statement, and return the answer."""
    request = urllib.request.Request(  # noqa: S310 - an address that the test has started
        f"{url}/ksql", json.dumps({"ksql": statement}).encode()
    )
    if user:
        request.add_header("Authorization", f"Basic {base64.b64encode(user.encode()).decode()}")
    context = None if ca is None else ssl.create_default_context(cafile=ca)
    try:
        with urllib.request.urlopen(  # noqa: S310 - as above
            request, context=context, timeout=waiting.DEADLINE_S
        ) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refused:
        return json.load(refused)


def test_another_cluster_gets_a_registry_and_a_server(tmp_path: Path) -> None:
    ports = ("--listen", FREE, "--registry-listen", FREE)
    with EmbeddedCluster() as cluster:
        brokers = cluster.bootstrap_servers
        with started(tmp_path, "-b", brokers, ports=ports, servers=2) as one:
            addresses = one.ready()
            assert set(children_of(one.process.pid)) == {"registry", "server"}
            (entity,) = run(addresses["server"], AVRO.format("orders"))
            assert entity["commandStatus"]["status"] == "SUCCESS"
            assert get(f"{addresses['registry']}/subjects") == ["orders-value"]
            topics = AdminClient({"bootstrap.servers": brokers}).list_topics(timeout=60).topics
            assert "orders" in topics
            children = children_of(one.process.pid)

            assert one.stop() == 0

        log = one.log()
        assert log.index("server has stopped") < log.index("registry has stopped")
        assert [name for name, pid in children.items() if Path(f"/proc/{pid}").exists()] == []
    assert "Traceback" not in log


def test_another_cluster_and_registry_get_a_server(tmp_path: Path) -> None:
    with (
        EmbeddedCluster() as cluster,
        RegistryProcess(cluster.bootstrap_servers) as registry,
        started(
            tmp_path,
            *("-b", cluster.bootstrap_servers, "--registry-url", registry.url),
            ports=("--listen", FREE),
            servers=1,
        ) as one,
    ):
        run(one.ready()["server"], AVRO.format("orders"))

        assert get(f"{registry.url}/subjects") == ["orders-value"]
        assert set(children_of(one.process.pid)) == {"server"}


def test_a_cluster_without_brokers_ends_the_command_with_the_reason(tmp_path: Path) -> None:
    ports = ("--listen", FREE, "--registry-listen", FREE)
    with started(tmp_path, "-b", "127.0.0.1:1", ports=ports, servers=2) as one:
        assert one.process.wait(waiting.DEADLINE_S) == 1

    assert "127.0.0.1:1" in one.log()
    assert "stopping, because a server did not start" in one.log()


@contextmanager
def foreign_registry() -> Iterator[tuple[str, list[str | None]]]:
    """Yield the URL of a registry that knows nothing, and the logins that it has seen."""
    logins: list[str | None] = []

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            logins.append(self.headers.get("Authorization"))
            body = b'{"error_code": 40401, "message": "Subject not found."}'
            self.send_response(404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_arguments: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", logins
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_foreign_registry_never_sees_the_login_of_the_brokers_own_servers(
    tmp_path: Path,
) -> None:
    ports = ("--listen", FREE, "--broker-listen", FREE)
    words = ("--profile", "team", "--registry-url")
    with (
        foreign_registry() as (url, logins),
        started(tmp_path, *words, url, ports=ports, servers=2) as one,
    ):
        addresses = one.ready()
        password = (tmp_path / "data/admin.password").read_text().strip()
        authority = tmp_path / "data/certificates/ca.pem"

        answer = run(addresses["server"], AVRO.format("t"), f"admin:{password}", authority)

        assert answer["@type"] == "statement_error"

    assert set(logins) == {None}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["-b", "a:1", "--broker-listen", FREE], "--broker-listen is an option of the broker"),
        (["-b", "a:1", "--set", "a=b"], "--set is an option of the broker"),
        (["-b", "a:1", "--host", "a"], "--host is an option of the broker"),
        (["-b", "a:1", "--profile", "team"], "duolog server --cluster-users"),
        (["--registry-url", "http://a", "--registry-listen", FREE], "--registry-listen is an"),
        (["--client-properties", __file__], "needs --bootstrap-servers"),
        (["--host", "a"], "needs --profile team"),
    ],
)
def test_options_of_servers_that_are_not_started_are_refused(
    words: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["start", "--data", str(tmp_path / "data"), *words]) == 2

    assert reason in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "data").exists()
