"""kafka-python's own tests of SASL, and its test of ACLs."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.outcomes import Outcome
from lib.pytest_lines import outcomes_of
from lib.suite import fetch, run_command
from lib.users import add_users

USER, PASSWORD = "alice", "alice-secret"
"""Those of the tests' own brokers."""
TESTS = (
    "test/integration/test_sasl_integration.py",
    "test/integration/test_admin_integration.py::test_create_describe_delete_acls",
)


class KafkaPythonSasl:
    """The tests of its source archive that need users or rules."""

    client = "kafka-python 3.0.12"
    settings: Mapping[str, str] = MappingProxyType({"num.partitions": "4"})
    secured = True

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        fetch(Path(__file__).parent, cache)
        add_users({USER: PASSWORD})
        env = os.environ | {
            "KAFKA_ROOT": str(cache / "source"),
            "KAFKA_VERSION": "4.1",
            "DUOLOG_COMPAT_PLAIN_PORT": bootstrap_servers.rpartition(":")[2],
            "PYTHONPATH": ".",
        }
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:randomly", "--timeout", "60"]
        command += ["-p", "no:cacheprovider", *(selection or TESTS)]
        log = cache / "log.txt"
        output = run_command(command, cwd=cache / "source", log=log, timeout_s=600, env=env)
        return outcomes_of(output)


SUITE = KafkaPythonSasl()
