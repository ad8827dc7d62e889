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
TIMEOUT_S = 1200
WITHOUT_TLS = "^TestIssue769$"
"""Brings its own dialer, which kgo accepts only without settings for TLS."""
_LINE = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+)", re.MULTILINE)
_OUTCOMES = {"PASS": Outcome.PASSED, "FAIL": Outcome.FAILED, "SKIP": Outcome.SKIPPED}


class FranzGoSasl:
    """kgo's tests, whose clients all log in over TLS; `fetch` compiles them once."""

    client = "franz-go 1.22.2"
    settings: Mapping[str, str] = MappingProxyType({"durability": "os"})
    secured = True

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        del bootstrap_servers
        fetch(Path(__file__).parent, cache)
        add_users({USER: PASSWORD})
        over_tls = {
            "KGO_SEEDS": f"127.0.0.1:{port('SASL_SSL')}",
            "KGO_TEST_TLS": f"ca:{certificates() / 'ca.pem'}",
        }
        without_tls = {"KGO_SEEDS": f"127.0.0.1:{port('SASL_PLAINTEXT')}"}
        chosen = [f"-test.run={pattern}" for pattern in selection]
        outcomes = _run(cache, over_tls, [*chosen, f"-test.skip={WITHOUT_TLS}"])
        if not selection:
            outcomes |= _run(cache, without_tls, [f"-test.run={WITHOUT_TLS}"])
        return outcomes


def _run(cache: Path, listener: Mapping[str, str], options: Sequence[str]) -> dict[str, Outcome]:
    env = {
        **os.environ,
        **listener,
        "KGO_TEST_SCRAM": f"{USER}:{PASSWORD}:512",
        # The tests of SCRAM alone use no TLS.
        "KGO_TEST_SCRAM_SEEDS": f"127.0.0.1:{port('SASL_PLAINTEXT')}",
        "KGO_TEST_RF": "1",
        "KGO_TEST_RECORDS": str(RECORDS),
        "KGO_TEST_UNSAFE": "1",
        "KGO_TEST_MAX_TOPIC_PARTS": "4",
        "KGO_LOG_LEVEL": "none",
    }
    command = [str(cache / "kgo.test"), "-test.v", f"-test.timeout={TIMEOUT_S - 30}s", *options]
    log = cache / ("log.txt" if "KGO_TEST_TLS" in listener else "log_without_tls.txt")
    # One test reads the source of the client.
    source = cache / "source/pkg/kgo"
    output = run_command(command, cwd=source, log=log, timeout_s=TIMEOUT_S, env=env)
    return {name: _OUTCOMES[how] for how, name in _LINE.findall(output)}


SUITE = FranzGoSasl()
