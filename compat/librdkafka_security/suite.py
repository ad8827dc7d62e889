"""librdkafka's own tests of ACLs, SCRAM users, credentials and repeated logins, over TLS."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.outcomes import Outcome
from lib.suite import fetch, run_command
from lib.users import ADMIN, ADMIN_PASSWORD, certificates, port

RUNS = (
    ("0081", "Acls"),
    ("0081", "UserScramCredentials"),
    ("0081", "authorized_ops"),
    ("0135", ""),
    ("0142", ""),
)
"""Numbers of tests, and what the names of their parts must contain."""
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_PART = re.compile(r"\[ (do_test\w*):\d+(?:: (.*?))?: (PASS|SKIP)")
_FAILED = re.compile(r'Test "\d{4}_\w+[^"]*" failed')
_CLIENT = re.compile(r"rdkafka#\S+ ")


class LibRdKafkaSecurity:
    """The tests of its repository, compiled once."""

    client = "librdkafka 2.14.2"
    settings: Mapping[str, str] = MappingProxyType({"connections.max.reauth.ms": "4000"})
    secured = True

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        del bootstrap_servers
        fetch(Path(__file__).parent, cache)
        outcomes: dict[str, Outcome] = {}
        for mechanism in MECHANISMS:
            if not selection or mechanism in selection:
                for number, part in RUNS:
                    outcomes |= self._run(cache, mechanism, number, part)
        return outcomes

    @staticmethod
    def _run(cache: Path, mechanism: str, number: str, part: str) -> dict[str, Outcome]:
        settings = {
            "bootstrap.servers": f"127.0.0.1:{port('SASL_SSL')}",
            "security.protocol": "sasl_ssl",
            "sasl.mechanisms": mechanism,
            "sasl.username": ADMIN,
            "sasl.password": ADMIN_PASSWORD,
            "ssl.ca.location": str(certificates() / "ca.pem"),
        }
        name = f"{mechanism}-{number}-{part}"
        file = cache / f"{name}.conf"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        env = os.environ | {
            "RDKAFKA_TEST_CONF": str(file),
            "TEST_KAFKA_VERSION": "4.1.2",
            "TESTS": number,
            **({"SUBTESTS": part} if part else {}),
            "LD_LIBRARY_PATH": f"{cache / 'source/src'}:{cache / 'source/src-cpp'}",
        }
        command = ["./test-runner", "-p1"]
        log = cache / f"{name}.txt"
        folder = cache / "source/tests"
        output = run_command(command, cwd=folder, log=log, timeout_s=240, env=env)
        return _outcomes(_COLOURS.sub("", output), mechanism, number, part)


def _outcomes(output: str, mechanism: str, number: str, part: str) -> dict[str, Outcome]:
    found = {
        f"{mechanism}: {number} {function} {_CLIENT.sub('', how)}".strip(): (
            Outcome.PASSED if result == "PASS" else Outcome.SKIPPED
        )
        for function, how, result in _PART.findall(output)
    }
    if _FAILED.search(output) or not found:
        # The part that failed ends its test.
        found[f"{mechanism}: {number} {part}".strip()] = Outcome.FAILED
    return found


SUITE = LibRdKafkaSecurity()
