"""The registry as a process: its ready line, its signals, its users, and what it refuses."""

import http.client
import signal
import socket
import ssl
import subprocess
import sys
from base64 import b64encode
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import certificates
from conformance.registry.clients import TOPIC, Answer, append, ask, record_schema, register, stored
from conformance.registry.conftest import StartRegistry
from duolog.registry.access.passwords import hash_password
from duolog.runtime.errors import RegistryUnavailable
from duolog.testing.cluster import EmbeddedCluster
from waiting import wait_until

REGISTRY = (sys.executable, "-P", "-m", "duolog", "registry")


def basic(credentials: str) -> dict[str, str]:
    return {"Authorization": f"Basic {b64encode(credentials.encode()).decode()}"}


def test_a_registry_serves_what_another_one_wrote_before(
    cluster: EmbeddedCluster, start_registry: StartRegistry
) -> None:
    first = start_registry()
    answer = register(first.url, "a/b c", record_schema("R"))
    assert ask(first.url, "PUT", "/config", {"compatibility": "FULL"}).status == 200
    first.stop()

    second = start_registry()

    assert ask(second.url, "GET", "/subjects").body == ["a/b c"]
    assert ask(second.url, "GET", "/subjects/a%2Fb%20c/versions/latest").body["id"] == 1
    assert ask(second.url, "GET", "/config").body == {"compatibilityLevel": "FULL"}
    assert register(second.url, "other", record_schema("Other")).body["id"] == 2
    assert answer.body == {"id": 1}
    keys = [key["keytype"] for key, _ in stored(cluster.bootstrap_servers)]
    assert keys == ["NOOP", "SCHEMA", "CONFIG", "NOOP", "SCHEMA"]


def test_a_stopped_registry_answers_the_request_in_progress_and_exits_with_0(
    start_registry: StartRegistry,
) -> None:
    process = start_registry()
    parts = urlsplit(process.url)
    with closing(socket.create_connection((parts.hostname or "", parts.port or 0), 60)) as made:
        made.sendall(b"GET /subjects HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert made.recv(1000).startswith(b"HTTP/1.1 200 OK")

        assert process.stop(60) == 0

        assert made.recv(1000) == b""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_command_in_order(
    cluster: EmbeddedCluster, number: signal.Signals
) -> None:
    command = (*REGISTRY, "-b", cluster.bootstrap_servers, "--listen", "127.0.0.1:0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"duolog registry ready on http://127.0.0.1:")

        process.send_signal(number)
        _, log = process.communicate(timeout=60)

    assert process.returncode == 0
    assert b"registry has stopped" in log


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--listen", "0.0.0.0:0"), 2, "is beyond loopback"),
        (("--listen", "nonsense"), 2, "is not an address"),
        (("--advertise", "localhost:1"), 2, "is not the URL of a registry"),
        (("-b", "127.0.0.1:1"), 5, "could not look for topic _schemas"),
        (("--session-timeout", "0"), 2, "session-timeout"),
    ],
)
def test_a_mistake_is_named_and_ends_the_command(
    cluster: EmbeddedCluster, arguments: tuple[str, ...], status: int, message: str
) -> None:
    command = (*REGISTRY, "-b", cluster.bootstrap_servers, "--listen", "127.0.0.1:0", *arguments)

    ended = subprocess.run(command, capture_output=True, timeout=120, check=False)

    assert ended.returncode == status, ended.stderr
    assert message in ended.stderr.decode()


def test_a_damaged_record_is_named_and_skipped_only_if_told(
    cluster: EmbeddedCluster, start_registry: StartRegistry, tmp_path: Path
) -> None:
    first = start_registry()
    register(first.url, "a", record_schema("R"))
    first.stop()
    append(cluster.bootstrap_servers, b"not JSON", b"{}")

    with pytest.raises(RegistryUnavailable) as refused:
        start_registry()
    tolerant = start_registry("--skip-damaged-records")

    assert f"record {TOPIC}-0 at offset" in refused.value.detail
    assert "--skip-damaged-records" in refused.value.detail
    assert ask(tolerant.url, "GET", "/subjects").body == ["a"]
    log = (tmp_path / "registry-2.log").read_text()
    assert "skipped a damaged record" in log
    assert f"topic={TOPIC} offset=" in log


def test_a_record_damaged_later_stops_writes_and_not_reads(
    cluster: EmbeddedCluster, registry: str
) -> None:
    register(registry, "a", record_schema("R"))
    append(cluster.bootstrap_servers, b"not JSON", b"{}")

    def refusal() -> Answer | None:
        answer = register(registry, "b", record_schema("B"))
        return answer if answer.status == 500 else None

    refused = wait_until(refusal, "the refusal of a write")

    assert refused is not None
    assert refused.body["error_code"] == 50001
    assert f"record {TOPIC}-0 at offset" in refused.body["message"]
    assert "a" in ask(registry, "GET", "/subjects").body


def test_users_see_and_change_only_their_subjects(
    start_registry: StartRegistry, tmp_path: Path
) -> None:
    users = tmp_path / "users.toml"
    users.write_text(
        f'[users.admin]\npassword = "{hash_password("a")}"\nwrite = ["*"]\n'
        f'[users.team]\npassword = "{hash_password("t")}"\nread = ["team-*"]\nwrite = ["team-*"]\n'
    )
    url = start_registry("--users", str(users)).url
    admin, team = basic("admin:a"), basic("team:t")

    def put(user: dict[str, str], subject: str, name: str) -> tuple[int, object]:
        body = {"schema": record_schema(name)}
        answer = ask(url, "POST", f"/subjects/{subject}/versions", body, headers=user)
        return answer.status, answer.body

    assert put(admin, "secret", "S") == (200, {"id": 1})
    assert put(team, "team-a", "T") == (200, {"id": 2})
    assert put(team, "secret", "T")[0] == 403
    assert ask(url, "GET", "/subjects").status == 401
    assert ask(url, "GET", "/subjects", headers=basic("team:wrong")).status == 401
    assert ask(url, "GET", "/subjects", headers=team).body == ["team-a"]
    assert ask(url, "GET", "/subjects", headers=admin).body == ["secret", "team-a"]
    for path in ("/subjects/secret/versions", "/subjects/unknown/versions"):
        hidden = ask(url, "GET", path, headers=team)
        assert (hidden.status, hidden.body["error_code"]) == (404, 40401)
    assert ask(url, "GET", "/schemas/ids/2", headers=team).status == 200
    assert ask(url, "GET", "/schemas/ids/1", headers=team).body["error_code"] == 40403
    assert ask(url, "PUT", "/config", {"compatibility": "NONE"}, headers=team).status == 403


def test_the_users_file_is_read_again_on_sighup(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    users = tmp_path / "users.toml"
    users.write_text(f'[users.first]\npassword = "{hash_password("a")}"\n')
    command = [*REGISTRY, "-b", cluster.bootstrap_servers, "--listen", "127.0.0.1:0"]
    command += ["--users", str(users)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        url = process.stdout.readline().decode().split()[-1]

        def status(user: str) -> int:
            return ask(url, "GET", "/subjects", headers=basic(user)).status

        assert (status("first:a"), status("second:b")) == (200, 401)
        users.write_text("not [toml")
        process.send_signal(signal.SIGHUP)
        assert (status("first:a"), status("second:b")) == (200, 401)
        users.write_text(f'[users.second]\npassword = "{hash_password("b")}"\n')
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: status("second:b") == 200, "the new users hold")
        assert status("first:a") == 401
        process.terminate()
        _, log = process.communicate(timeout=60)

    assert b"kept the users as they were" in log
    assert process.returncode == 0


def https_status(port: str, context: ssl.SSLContext, headers: dict[str, str]) -> int:
    connection = http.client.HTTPSConnection("localhost", int(port), context=context, timeout=60)
    connection.request("GET", "/subjects", headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_users_and_https_allow_to_listen_beyond_loopback_and_certificates_change(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    users = tmp_path / "users.toml"
    users.write_text(f'[users.admin]\npassword = "{hash_password("a")}"\nwrite = ["*"]\n')
    files, renewed = (certificates.make(tmp_path / name) for name in ("first", "second"))
    served = tmp_path / "server.pem"
    served.write_bytes(files.server.read_bytes())
    command = [*REGISTRY, "-b", cluster.bootstrap_servers, "--listen", "0.0.0.0:0"]

    plain = subprocess.run(
        [*command, "--users", str(users)], capture_output=True, timeout=120, check=False
    )
    assert plain.returncode == 2
    assert b"is beyond loopback, and passwords are not encrypted" in plain.stderr

    command += ["--users", str(users), "--tls-cert", str(served)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        ready = process.stdout.readline().decode().split()
        assert ready[-1].startswith("https://0.0.0.0:")
        port = ready[-1].rpartition(":")[2]
        assert https_status(port, files.client_context(), basic("admin:a")) == 200
        assert https_status(port, files.client_context(), {}) == 401

        served.write_bytes(renewed.server.read_bytes())
        process.send_signal(signal.SIGHUP)

        def renewed_is_shown() -> bool:
            try:
                return https_status(port, renewed.client_context(), basic("admin:a")) == 200
            except ssl.SSLCertVerificationError:
                return False

        wait_until(renewed_is_shown, "the new certificate")
        with pytest.raises(ssl.SSLCertVerificationError):
            https_status(port, files.client_context(), basic("admin:a"))
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/subjects/..%2Fx/versions", {"schema": record_schema("R")}, 422),
        ("/subjects/a%00b/versions", {"schema": record_schema("R")}, 422),
        ("/subjects/a/versions", {"schema": '{"type":' * 10_000}, 422),
        ("/subjects/a/versions", {"schema": "[" * 1_000_000}, 422),
        ("/subjects/a/versions", {"schema": '"' + "a" * 1_500_000 + '"'}, 422),
        ("/subjects/a/versions", {"schema": "x" * 5_000_000}, 413),
        ("/subjects/a/versions", [], 400),
        ("/subjects/a/versions", {"schema": 1}, 422),
        ("/subjects/a/versions", {"schema": record_schema("R"), "references": 1}, 400),
    ],
    ids=lambda value: str(value)[:40],
)
def test_hostile_input_is_refused_quickly_and_the_registry_lives_on(
    registry: str, path: str, body: object, status: int
) -> None:
    answer = ask(registry, "POST", path, body)

    assert answer.status == status, str(answer)[:500]
    assert status == 200 or answer.body["error_code"] // 100 in {status // 100, status}
    assert ask(registry, "GET", "/").body == {}


def test_the_servers_own_endpoints(registry: str) -> None:
    scope = ask(registry, "GET", "/v1/metadata/id").body["scope"]
    version = ask(registry, "GET", "/v1/metadata/version").body

    assert ask(registry, "GET", "/").body == {}
    assert ask(registry, "POST", "/", {}).body == {}
    assert set(scope["clusters"]) == {"kafka-cluster", "schema-registry-cluster"}
    assert scope["clusters"]["schema-registry-cluster"] == "schema-registry"
    assert set(version) == {"version", "commitId"}


def test_a_password_is_hashed_by_the_command_itself() -> None:
    ended = subprocess.run(
        (*REGISTRY, "--hash-password"),
        input=b"secret\nsecret\n",
        capture_output=True,
        timeout=60,
        check=True,
    )

    assert ended.stdout.startswith(b"scrypt:")
    assert b"secret" not in ended.stdout


def test_the_broker_runs_a_registry_and_stops_it(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "duolog", "broker", "--data", str(tmp_path / "data")]
    command += ["--listen", "127.0.0.1:0", "--registry", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        first, second = process.stdout.readline(), process.stdout.readline()
        url = second.decode().split()[-1]
        registered = register(url, "a", record_schema("R"))
        process.terminate()
        _, log = process.communicate(timeout=120)

    assert first.startswith(b"duolog broker ready on ")
    assert second.startswith(b"duolog registry ready on http://127.0.0.1:")
    assert registered.body == {"id": 1}
    assert process.returncode == 0
    assert log.index(b"registry has stopped") < log.index(b"broker has stopped")
    with pytest.raises(OSError):  # noqa: PT011 - refused or reset: the port is closed
        ask(url, "GET", "/")


def test_a_registry_that_cannot_start_stops_its_broker(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        command = [sys.executable, "-P", "-m", "duolog", "broker", "--data", str(tmp_path / "data")]
        command += ["--listen", "127.0.0.1:0", "--registry", address]
        ended = subprocess.run(command, capture_output=True, timeout=120, check=False)

    assert ended.returncode == 1
    assert f'cannot listen on "{address}"' in ended.stderr.decode()
    assert b"Traceback" not in ended.stderr
