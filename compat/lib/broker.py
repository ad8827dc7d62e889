"""The broker under test: Duolog, or an Apache Kafka for comparison, on a free port."""

import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from conformance.kafka.peer import KafkaPeer, free_ports  # noqa: E402  It lives among the tests.
from conformance.token_issuer import TokenIssuer  # noqa: E402
from duolog.security.certificates.authority import Authority  # noqa: E402
from duolog.testing import EmbeddedCluster  # noqa: E402

TLS_PORT = "DUOLOG_COMPAT_TLS_PORT"
TLS_FOLDER = "DUOLOG_COMPAT_TLS_FOLDER"
"""Variables for suites: the port of the listener with TLS, and the folder of its certificates."""
_WITH_TLS = """
import sys
from duolog.cli.main import main
sys.exit(main([*sys.argv[2:], "--listen", f"SSL://127.0.0.1:{sys.argv[1]}"]))
"""
"""The broker's program with one more listener."""
SECURED_PORTS = "DUOLOG_COMPAT_SECURED_PORTS"
"""The ports of a secured broker's further listeners, in JSON, by the protocol of each."""
ADMIN, ADMIN_PASSWORD = "admin", "admin-secret"
"""The super user of a secured broker."""
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_SECURED_LISTENERS = ("SASL_PLAINTEXT", "SASL_SSL", "SSL")
_WITH_LISTENERS = """
import sys
from duolog.cli.main import main
listeners = sys.argv[1].split(",")
sys.exit(main([*sys.argv[2:], *(word for one in listeners for word in ("--listen", one))]))
"""
_REQUEST_LOG = {"logging.format": "json", "logging.requests": "true"}


class Target(NamedTuple):
    """What a suite runs against."""

    bootstrap_servers: str
    log: Path | None

    def versions_used(self) -> dict[str, list[int]]:
        """Return the versions of each API that clients have used; empty on an Apache Kafka."""
        used: dict[str, set[int]] = defaultdict(set)
        if self.log is not None:
            with self.log.open() as lines:
                for line in lines:
                    if '"api"' in line and '"version"' in line:
                        fields = json.loads(line)
                        used[fields["api"]].add(fields["version"])
        return {name: sorted(versions) for name, versions in sorted(used.items())}


@contextmanager
def duolog(settings: Mapping[str, str]) -> Iterator[Target]:
    """Run a Duolog broker for one suite."""
    with tempfile.TemporaryDirectory() as directory:
        data_dir = Path(directory) / "broker"
        (port,) = free_ports(1)
        folder = Path(directory) / "certificates"
        Authority.create(folder, hosts=("localhost", "127.0.0.1"), client="client", days=2)
        tls = {"ssl.keystore.location": str(folder / "server.pem")}
        os.environ |= {TLS_PORT: str(port), TLS_FOLDER: str(folder)}
        program = (sys.executable, "-c", _WITH_TLS, str(port), "broker", "--stop-with-stdin")
        with EmbeddedCluster(
            data_dir, {**_REQUEST_LOG, **tls, **settings}, program=program
        ) as cluster:
            yield Target(cluster.bootstrap_servers, cluster.broker.log_path)


@contextmanager
def secured(settings: Mapping[str, str]) -> Iterator[Target]:
    """Run a Duolog broker with users, rights and TLS for one suite.

    The address of the target is without security, as these suites prepare by it. The others are in
    `SECURED_PORTS`: SASL_PLAINTEXT, SASL_SSL, and SSL, which asks for a client certificate.
    Resources without rules are open to all.
    """
    with tempfile.TemporaryDirectory() as directory:
        folder, password = Path(directory) / "certificates", Path(directory) / "password"
        Authority.create(folder, hosts=("localhost", "127.0.0.1"), client="client", days=2)
        password.write_text(ADMIN_PASSWORD)
        ports = dict(zip(_SECURED_LISTENERS, free_ports(len(_SECURED_LISTENERS)), strict=True))
        os.environ |= {
            SECURED_PORTS: json.dumps(ports),
            TLS_FOLDER: str(folder),
            "DUOLOG_ADMIN_PASSWORD_FILE": str(password),
        }
        listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
        own = {
            "ssl.keystore.location": str(folder / "server.pem"),
            "ssl.truststore.location": str(folder / "ca.pem"),
            "listener.name.ssl.ssl.client.auth": "required",
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{ADMIN}",
            "allow.everyone.if.no.acl.found": "true",
            # For the listener without security.
            "allow.insecure.listen": "true",
            **TokenIssuer(folder / "issuer").settings(),
        }
        program = (sys.executable, "-c", _WITH_LISTENERS, listeners, "broker", "--stop-with-stdin")
        with EmbeddedCluster(
            Path(directory) / "broker", {**_REQUEST_LOG, **own, **settings}, program=program
        ) as cluster:
            yield Target(cluster.bootstrap_servers, cluster.broker.log_path)


@contextmanager
def apache_kafka(settings: Mapping[str, str]) -> Iterator[Target]:
    """Run an Apache Kafka for one suite, to see what a suite expects of its own accord."""
    with (
        tempfile.TemporaryDirectory() as directory,
        KafkaPeer(Path(directory) / "kafka", settings=settings) as peer,
    ):
        yield Target(peer.bootstrap_servers, None)


@contextmanager
def none(settings: Mapping[str, str]) -> Iterator[Target]:
    """Run no broker: the suite starts its own."""
    assert not settings
    yield Target("", None)
