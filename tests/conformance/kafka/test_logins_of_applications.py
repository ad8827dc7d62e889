"""Exactly-once applications log in to Duolog's own broker, in each way that has no password.

    client certificate    mutual TLS
    token of Duolog       OAUTHBEARER over TLS; executors of their own process get the token too
    client credentials    OAUTHBEARER over TLS: an identity provider issues a JWT

`duolog run` runs as a process of its own. At the end, no secret is in anything that it left.
"""

import http.server
import json
import signal
import subprocess
import sys
import threading
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from joserfc import jws
from joserfc.jwk import RSAKey

import certificates
from certificates import Certificates
from duolog.runtime.broker_process import BrokerProcess
from duolog.security.clients.client_security import TOKEN_FILE
from waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(540)]

WAIT_S: Final = 400.0
ADMIN, SECRET = "admin", "planted-1Fb5-password"
CLIENT_SECRET: Final = "planted-9Kd2-client"  # noqa: S105 - planted, to be looked for
AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
ISSUER: Final = "https://issuer.example"
TOPOLOGY: Final = """
from duolog import Topology, count

topology = Topology("counted")
sales = topology.stream("sales", key="shop STRING", value="amount BIGINT")
sales.group_by("shop").aggregate(sales=count()).to("counts")
"""
SETTINGS: Final = (
    "processing.guarantee=exactly_once_v2",
    "state.changelog=on",
    "statestore.cache.max.bytes=0",
)
CLUSTER: Final = "local-cluster[2,2,1024]"


class Site:
    """A broker, its administrator's client, and the application."""

    def __init__(self, broker: BrokerProcess, directory: Path, admin: dict[str, str]) -> None:
        self.broker = broker
        self.directory = directory
        self.admin: dict[str, Any] = {**admin, "bootstrap.servers": broker.bootstrap_servers}

    def write(self, properties: dict[str, str], name: str = "client.properties") -> Path:
        path = self.directory / name
        path.touch(mode=0o600)
        path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        return path

    def duolog(self, *words: str) -> str:
        """Run a command of the administrator; return what it prints."""
        file = self.write(
            {k: v for k, v in self.admin.items() if "bootstrap" not in k}, "admin.properties"
        )
        command = [sys.executable, "-P", "-m", "duolog", *words]
        command += ["-b", self.broker.bootstrap_servers, "--client-properties", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT_S)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def sell(self, numbers: range) -> None:
        producer = Producer(self.admin)
        for number in numbers:
            value = json.dumps({"amount": number})
            producer.produce("sales", value, f"shop-{number % 2}", timestamp=1000 + number)
        assert producer.flush(60) == 0

    def run_until_counted(self, file: Path, wanted: int, *more: str) -> None:
        """Run the application until both shops have `wanted` sales, then kill it."""
        (self.directory / "counted.py").write_text(TOPOLOGY)
        words = [sys.executable, "-P", "-m", "duolog", "run", str(self.directory / "counted.py")]
        words += ["-b", self.broker.bootstrap_servers, "--client-properties", str(file)]
        words += ["--data", str(self.directory / "data"), "--mode", "micro-batch"]
        for setting in SETTINGS:
            words += ["--set", setting]
        output = self.directory / f"output-{wanted}"
        with output.open("wb") as log:
            process = subprocess.Popen([*words, *more], stdout=log, stderr=log)
        try:

            def counted() -> bool:
                assert process.poll() is None, output.read_text()
                return self.counts() == {"shop-0": wanted, "shop-1": wanted}

            wait_until(counted, lambda: output.read_text()[-3000:], WAIT_S)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(120)

    def counts(self) -> dict[str, int]:
        settings = {**self.admin, "group.id": "test", "isolation.level": "read_committed"}
        consumer = Consumer({**settings, "enable.partition.eof": True})
        found: dict[str, int] = {}
        try:
            if "counts" not in consumer.list_topics(timeout=60).topics:
                return found
            partitions = consumer.list_topics("counts", timeout=60).topics["counts"].partitions
            consumer.assign([TopicPartition("counts", number, 0) for number in partitions])
            ends = len(partitions)
            while ends:
                record = consumer.poll(60)
                assert record is not None
                if record.error() is not None:
                    ends -= 1
                    continue
                found[(record.key() or b"").decode()] = json.loads(record.value() or b"")["sales"]
        finally:
            consumer.close()
        return found

    def leaks(self, secret: str, *ours: Path) -> list[Path]:
        files = [path for path in self.directory.rglob("*") if path.is_file() and path not in ours]
        return [path for path in files if secret.encode() in path.read_bytes()]


@pytest.fixture
def files(tmp_path: Path) -> Certificates:
    return certificates.make(tmp_path / "ca")


@contextmanager
def secured(
    directory: Path, files: Certificates, protocol: str, more: dict[str, str], admin: dict[str, str]
) -> Iterator[Site]:
    """Run a broker with TLS, a login and rights; its topics exist."""
    settings = {
        **files.settings("required" if protocol == "SSL" else "none"),
        "authorizer.class.name": AUTHORIZER,
        "connection.failed.authentication.delay.ms": "0",
        **more,
    }
    common = {"ssl.ca.location": str(files.ca), "security.protocol": protocol}
    with BrokerProcess(directory / "broker", f"{protocol}://127.0.0.1:0", settings) as broker:
        site = Site(broker, directory, {**common, **admin})
        topics = [NewTopic("sales", 2, config={"retention.ms": "-1"})]
        client = AdminClient(site.admin)  # Closing it would discard the answer.
        for future in client.create_topics(topics).values():
            future.result(60)
        yield site


PASSWORD_LOGIN: Final = {
    "sasl.mechanism": "SCRAM-SHA-256",
    "sasl.username": ADMIN,
    "sasl.password": SECRET,
}


@pytest.fixture
def first_administrator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "first.password"
    file.write_text(SECRET)
    monkeypatch.setenv("DUOLOG_ADMIN_PASSWORD_FILE", str(file))


def test_an_application_logs_in_by_a_certificate(tmp_path: Path, files: Certificates) -> None:
    login = {
        "ssl.certificate.location": str(files.client),
        "ssl.key.location": str(files.client),
    }
    users = {"super.users": "User:CN=client"}
    with secured(tmp_path, files, "SSL", users, login) as site:
        file = site.write(
            {
                "security.protocol": "SSL",
                "ssl.truststore.location": str(files.ca),
                "ssl.keystore.location": str(files.client),
            }
        )
        site.sell(range(10))
        site.run_until_counted(file, 5)
        site.sell(range(10, 20))
        site.run_until_counted(file, 10)

        key = files.client.read_text().partition("-----BEGIN PRIVATE KEY-----")[2].split()[1]
        assert site.leaks(key, files.client) == []


@pytest.mark.usefixtures("first_administrator")
def test_an_application_and_its_executors_log_in_by_a_token(
    tmp_path: Path, files: Certificates
) -> None:
    more = {
        "sasl.enabled.mechanisms": "SCRAM-SHA-256,OAUTHBEARER",
        "super.users": "User:admin;User:runner",
    }
    with secured(tmp_path, files, "SASL_SSL", more, PASSWORD_LOGIN) as site:
        secret = tmp_path / "runner.token"
        secret.write_text(site.duolog("tokens", "create", "runner"))
        file = site.write(
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "OAUTHBEARER",
                TOKEN_FILE: secret.name,
                "ssl.truststore.location": str(files.ca),
            }
        )
        site.sell(range(10))
        # Spark's event log has the properties of jobs, by which executors get the token.
        events = tmp_path / "events"
        events.mkdir()
        settings = {
            "spark.executor.memory": "600m",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": events.as_uri(),
        }
        words = [word for name in settings for word in ("--set", f"{name}={settings[name]}")]
        site.run_until_counted(file, 5, "--master", CLUSTER, *words)

        assert any(path.stat().st_size for path in events.rglob("*") if path.is_file())
        assert site.leaks(secret.read_text().strip(), secret) == []


@pytest.mark.usefixtures("first_administrator")
def test_an_application_logs_in_by_client_credentials(tmp_path: Path, files: Certificates) -> None:
    with Provider(tmp_path) as provider:
        more = {
            "sasl.enabled.mechanisms": "SCRAM-SHA-256,OAUTHBEARER",
            "super.users": "User:admin;User:runner",
            "sasl.oauthbearer.jwks.endpoint.url": str(provider.keys),
            "sasl.oauthbearer.expected.issuer": ISSUER,
            "sasl.oauthbearer.expected.audience": "duolog",
        }
        with secured(tmp_path, files, "SASL_SSL", more, PASSWORD_LOGIN) as site:
            file = site.write(
                {
                    "security.protocol": "SASL_SSL",
                    "sasl.mechanism": "OAUTHBEARER",
                    "sasl.oauthbearer.token.endpoint.url": provider.url,
                    "sasl.oauthbearer.client.id": "runner",
                    "sasl.oauthbearer.client.secret": CLIENT_SECRET,
                    "ssl.truststore.location": str(files.ca),
                }
            )
            site.sell(range(10))
            site.run_until_counted(file, 5)

            assert site.leaks(CLIENT_SECRET, file) == []
        # Clients in Python and in the JVM have each asked.
        assert len(provider.agents) > 1


class Provider:
    """An identity provider on loopback that issues a JWT for the client secret."""

    def __init__(self, directory: Path) -> None:
        key = RSAKey.generate_key(2048, {"kid": "first"})
        self.keys = directory / "keys.json"
        self.keys.write_text(json.dumps({"keys": [key.as_dict(private=False)]}))
        self.agents: set[str] = set()
        agents = self.agents

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                _, _, given = self.headers["Authorization"].partition("Basic ")
                client, _, secret = b64decode(given).decode().partition(":")
                agents.add(self.headers.get("User-Agent", "librdkafka").split("/")[0])
                self.rfile.read(int(self.headers["Content-Length"]))
                allowed = secret == CLIENT_SECRET
                body = json.dumps(_granted(key, client)).encode() if allowed else b"{}"
                self.send_response(200 if allowed else 401)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/token"

    def __enter__(self) -> "Provider":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _granted(key: RSAKey, client: str) -> dict[str, Any]:
    now = int(time.time())
    claims = {"iss": ISSUER, "aud": "duolog", "sub": client, "iat": now, "exp": now + 3600}
    token = jws.serialize_compact({"alg": "RS256", "kid": "first"}, json.dumps(claims), key)
    return {"access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": ""}
