"""franz-go's tests of its client over TLS and with SCRAM."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.outcomes import Outcome
from lib.suite import fetch, run_command
from lib.users import add_users, certificates, port

USER, PASSWORD = "gopher", "gophers-secret"
RECORDS = 5000
"""A quarter of those in `franz_go`: every connection is encrypted on both sides."""
_LINE = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+)", re.MULTILINE)
_OUTCOMES = {"PASS": Outcome.PASSED, "FAIL": Outcome.FAILED, "SKIP": Outcome.SKIPPED}


class FranzGoSasl:
    """kgo's tests, whose clients all log in over TLS; compiled once."""

    client = "franz-go 1.22.2"
    settings: Mapping[str, str] = MappingProxyType({"durability": "os"})
    secured = True

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        del bootstrap_servers
        fetch(Path(__file__).parent.with_name("franz_go"), cache)
        add_users({USER: PASSWORD})
        env = os.environ | {
            "KGO_SEEDS": f"127.0.0.1:{port('SASL_SSL')}",
            "KGO_TEST_TLS": f"ca:{certificates() / 'ca.pem'}",
            "KGO_TEST_SCRAM": f"{USER}:{PASSWORD}:512",
            # The tests of SCRAM alone use no TLS.
            "KGO_TEST_SCRAM_SEEDS": f"127.0.0.1:{port('SASL_PLAINTEXT')}",
            "KGO_TEST_RF": "1",
            "KGO_TEST_RECORDS": str(RECORDS),
            "KGO_TEST_UNSAFE": "1",
            "KGO_TEST_MAX_TOPIC_PARTS": "4",
            "KGO_LOG_LEVEL": "none",
        }
        command = ["./kgo.test", "-test.v", "-test.timeout", "570s"]
        command += [f"-test.run={pattern}" for pattern in selection]
        output = run_command(command, cwd=cache, log=cache / "log.txt", timeout_s=600, env=env)
        return {name: _OUTCOMES[how] for how, name in _LINE.findall(output)}


SUITE = FranzGoSasl()
