"""librdkafka's own tests of certificates, logins, SCRAM users and ACLs."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from lib.librdkafka_files import certificate_settings, certificate_variables, kafka_path
from lib.outcomes import Outcome
from lib.slow_network import delayed
from lib.suite import fetch, run_command
from lib.users import add_users, certificates, port

# Not the super user: a test removes one of its rights.
USER, PASSWORD = "shannon", "shannons-secret"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_CLIENT = re.compile(r"rdkafka#\S+ |\S+#producer-\d+ |\S+#consumer-\d+ ")
_PARTS = (
    re.compile(r"\[ (?P<part>do_test\w*:\d+(?:: .*?)?): (?P<result>PASS|SKIP)\b"),
    re.compile(r"\[ (?P<part>Test .*?):? (?P<result>PASS) \]"),
    re.compile(r"\[ (?P<result>PASS)ED: (?P<part>\d+: .*?) \]"),
)
_LINE = re.compile(r"^(do_test\w*):\d+")


class Run(NamedTuple):
    """A program of tests."""

    number: str
    part: str = ""
    """A text that the names of its parts must contain."""


LOGINS = (
    Run("0081", "Acls"),
    Run("0081", "UserScramCredentials"),
    Run("0081", "authorized_ops"),
    Run("0081", "DescribeTopics"),
    Run("0081", "DescribeCluster"),
    Run("0135"),
    Run("0142"),
)
"""Run once with each mechanism."""
CERTIFICATES = Run("0097")
RULES = (Run("0115"), Run("0119"))
"""Their own clients do not log in."""
SLOW = {"test.timeout.multiplier": "4"}
LATENCY_S = 0.005


class LibRdKafkaSecurity:
    """The tests of its repository, compiled once."""

    client = "librdkafka 2.14.2"
    settings: Mapping[str, str] = MappingProxyType(
        {
            "connections.max.reauth.ms": "4000",
            # The topics of 0142 have three replicas.
            "replication.factor.clamp": "true",
        }
    )
    secured = True

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        fetch(Path(__file__).parent, cache)
        add_users({USER: PASSWORD})
        outcomes: dict[str, Outcome] = {}
        variables = certificate_variables(cache / "certificates")
        over_tls = {
            "bootstrap.servers": f"127.0.0.1:{port('SASL_SSL')}",
            "security.protocol": "sasl_ssl",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
            "ssl.ca.location": str(certificates() / "ca.pem"),
        }
        for mechanism in MECHANISMS:
            settings = over_tls | {"sasl.mechanisms": mechanism}
            for run in LOGINS:
                if _chosen(selection, mechanism, run):
                    outcomes |= _run(cache, mechanism, run, settings, {})
        with_certificate = {
            "mTLS": {
                "bootstrap.servers": f"127.0.0.1:{port('SSL')}",
                "security.protocol": "ssl",
            },
            # A listener that does not ask for a certificate.
            "PLAIN": over_tls | {"sasl.mechanisms": "PLAIN"},
        }
        for name, settings in with_certificate.items():
            if _chosen(selection, name, CERTIFICATES):
                own = settings | certificate_settings(variables) | SLOW
                # If the handshake fails within the client's first call, it reports another error.
                with delayed(settings["bootstrap.servers"], LATENCY_S) as address:
                    own["bootstrap.servers"] = address
                    outcomes |= _run(cache, name, CERTIFICATES, own, variables)
        plain = {"bootstrap.servers": bootstrap_servers} | SLOW
        for run in RULES:
            if _chosen(selection, "rules", run):
                path = {"KAFKA_PATH": str(kafka_path(cache / "kafka"))}
                outcomes |= _run(cache, "rules", run, plain, path)
        return outcomes


def _chosen(selection: Sequence[str], name: str, run: Run) -> bool:
    return not selection or name in selection or run.number in selection


def _run(
    cache: Path, name: str, run: Run, settings: Mapping[str, str], variables: Mapping[str, str]
) -> dict[str, Outcome]:
    stem = f"{name}-{run.number}-{run.part}"
    file = cache / f"{stem}.conf"
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    env = {
        **os.environ,
        **variables,
        "RDKAFKA_TEST_CONF": str(file),
        "TEST_KAFKA_VERSION": "4.1.2",
        "TESTS": run.number,
        **({"SUBTESTS": run.part} if run.part else {}),
        "LD_LIBRARY_PATH": f"{cache / 'source/src'}:{cache / 'source/src-cpp'}",
    }
    log = cache / f"{stem}.txt"
    output = run_command(
        ["./test-runner", "-p1"], cwd=cache / "source/tests", log=log, timeout_s=240, env=env
    )
    return _outcomes(_COLOURS.sub("", output), name, run)


def _outcomes(output: str, name: str, run: Run) -> dict[str, Outcome]:
    head = f"{name}: {run.number}"
    found: dict[str, Outcome] = {}
    for pattern in _PARTS:
        for match in pattern.finditer(output):
            part = _CLIENT.sub("", _LINE.sub(r"\1", match["part"]))
            passed = match["result"] == "PASS"
            found[f"{head} {part}"] = Outcome.PASSED if passed else Outcome.SKIPPED
    # A part that fails ends its program.
    if not found or "ALL TESTS PASSED" not in output:
        found[f"{head} {run.part}".strip()] = Outcome.FAILED
    return found


SUITE = LibRdKafkaSecurity()
