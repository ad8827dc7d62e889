"""`duolog server` as a process over a broker: both protocols, TLS, proxies, its start and its end."""

import signal
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import certificates
from conformance.kafka.peer import free_ports
from conformance.server.processes import PROGRAM, TIMEOUT_S, SqlServerProcess, ask, ask_by_http2
from duolog.runtime.broker_process import BrokerProcess
from waiting import wait_until


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    path = tmp_path_factory.mktemp("broker")
    with BrokerProcess(path / "data", "127.0.0.1:0", {"durability": "os"}) as running:
        yield running


@pytest.fixture
def server(broker: BrokerProcess, tmp_path: Path) -> Iterator[SqlServerProcess]:
    with SqlServerProcess(broker.bootstrap_servers, tmp_path) as running:
        yield running


def test_both_protocols_answer_on_one_port(server: SqlServerProcess) -> None:
    status, info, headers = ask(server, "/info")
    answers = ask_by_http2(server, ["/info", "/healthcheck", "/nope"])

    assert status == 200
    assert headers["content-type"] == "application/vnd.ksql.v1+json"
    assert info["KsqlServerInfo"]["serverStatus"] == "RUNNING"
    assert info["KsqlServerInfo"]["ksqlServiceId"] == "default_"
    assert len(info["KsqlServerInfo"]["kafkaClusterId"]) == 22
    assert [status for status, _ in answers] == [200, 200, 404]
    assert answers[0][1] == info
    assert answers[1][1]["isHealthy"] is True


def test_the_server_is_not_ready_without_a_broker(tmp_path: Path) -> None:
    listen = f"127.0.0.1:{free_ports(1)[0]}"
    with (
        BrokerProcess(tmp_path / "data", listen, {"durability": "os"}) as broker,
        SqlServerProcess(broker.bootstrap_servers, tmp_path) as server,
    ):
        assert ask(server, "/chc/ready")[0] == 200

        broker.stop()
        wait_until(lambda: ask(server, "/chc/ready")[0] == 503, "the broker is missed")

        assert ask(server, "/chc/live")[0] == 200
        assert ask(server, "/healthcheck")[1]["details"]["kafka"] == {"isHealthy": False}

        broker.start()
        wait_until(lambda: ask(server, "/chc/ready")[0] == 200, "the broker is back")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_server_in_order(
    broker: BrokerProcess, tmp_path: Path, number: signal.Signals
) -> None:
    with SqlServerProcess(broker.bootstrap_servers, tmp_path) as server:
        assert ask(server, "/info")[0] == 200
        server.signal(number)

        assert server.wait() == 0
    assert "server has stopped" in server.log_path.read_text()
    assert "Traceback" not in server.log_path.read_text()


def test_a_second_server_on_the_port_reports_it(
    server: SqlServerProcess, broker: BrokerProcess
) -> None:
    host, port = server.address
    result = duolog_server(broker, "--listen", f"{host}:{port}")

    assert result.returncode == 6
    assert f'cannot listen on "{host}:{port}"' in result.stderr


def test_a_server_without_users_does_not_listen_beyond_loopback(broker: BrokerProcess) -> None:
    result = duolog_server(broker, "--listen", "0.0.0.0:0")

    assert result.returncode == 2
    assert "beyond loopback, and clients are not authenticated" in result.stderr
    assert "--insecure" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--base-path", "sql"), '"sql" is not a prefix of paths'),
        (("--base-path", "/a/../b"), "is not a prefix of paths"),
        (("--trusted-proxy", "proxy.example"), '"proxy.example" is not an address of a proxy'),
        (("--set", "super.users=User:ann"), "--set needs --cluster-users"),
    ],
)
def test_an_option_that_cannot_be_used_is_named(
    broker: BrokerProcess, arguments: tuple[str, ...], named: str
) -> None:
    result = duolog_server(broker, "--listen", "127.0.0.1:0", *arguments)

    assert result.returncode == 2
    assert named in result.stderr


def test_a_missing_broker_is_named() -> None:
    result = subprocess.run(
        [*PROGRAM, "-b", "127.0.0.1:1", "--listen", "127.0.0.1:0"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )

    assert result.returncode == 5
    assert "127.0.0.1:1" in result.stderr


def test_others_see_the_advertised_address(broker: BrokerProcess, tmp_path: Path) -> None:
    """A server on 0.0.0.0 was shown to others by that address, where they cannot connect."""
    options = ("--insecure", "--advertise", "db.example:0")
    listen = "0.0.0.0:0"
    with SqlServerProcess(broker.bootstrap_servers, tmp_path, *options, listen=listen) as server:
        status, found, _ = ask(server, "/clusterStatus")

        host = {"Host": f"db.example:{server.address[1]}"}
        assert (status, list(found["clusterStatus"])) == (200, list(host.values()))
        assert ask(server, "/info", headers=host)[0] == 200


def test_a_base_path_and_a_trusted_proxy(broker: BrokerProcess, tmp_path: Path) -> None:
    options = (
        "--base-path",
        "/sql",
        "--trusted-proxy",
        "127.0.0.0/8",
        "--allow-host",
        "db.example",
    )
    headers = {"X-Forwarded-For": "203.0.113.9, 127.0.0.2", "Host": "db.example"}
    with SqlServerProcess(broker.bootstrap_servers, tmp_path, *options) as server:
        assert ask(server, "/sql/info", headers=headers)[0] == 200
        assert ask(server, "/info", headers=headers)[0] == 404
        assert ask(server, "/sqlinfo", headers=headers)[0] == 404
        assert ask(server, "/sql/chc/live")[0] == 200
        assert ask(server, "/sql", headers={"Host": "other.example"})[0] == 403
        wait_until(lambda: "client=203.0.113.9" in server.log_path.read_text(), "the access log")


def test_tls_serves_both_protocols_and_follows_a_new_certificate(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    made = certificates.make(tmp_path / "certificates")
    options = ("--tls-cert", str(made.server))
    with SqlServerProcess(broker.bootstrap_servers, tmp_path, *options) as server:
        assert ask(server, "/info", tls=trusting(made.ca))[0] == 200
        assert ask_by_http2(server, ["/info"], trusting(made.ca, "h2"))[0][0] == 200

        server.signal(signal.SIGHUP)
        wait_until(lambda: "reloaded certificates" in server.log_path.read_text(), "SIGHUP")

        assert ask_by_http2(server, ["/info"], trusting(made.ca, "h2"))[0][0] == 200
        assert ask(server, "/info", tls=trusting(made.ca))[0] == 200


def trusting(authority: Path, *protocols: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authority))
    context.check_hostname = False
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


def duolog_server(broker: BrokerProcess, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*PROGRAM, "-b", broker.bootstrap_servers, *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
