"""franz-go's tests of its client, kgo: groups of both protocols, transactions, large records."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.outcomes import Outcome
from lib.suite import fetch, run_command

_LINE = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+)", re.MULTILINE)
_OUTCOMES = {"PASS": Outcome.PASSED, "FAIL": Outcome.FAILED, "SKIP": Outcome.SKIPPED}


class FranzGo:
    """kgo's tests, compiled once."""

    client = "franz-go 1.22.2"
    settings: Mapping[str, str] = MappingProxyType({"durability": "os"})

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        fetch(Path(__file__).parent, cache)
        env = os.environ | {
            "KGO_SEEDS": bootstrap_servers,
            "KGO_TEST_RF": "1",
            "KGO_TEST_RECORDS": "20000",
            "KGO_TEST_UNSAFE": "1",
            "KGO_TEST_MAX_TOPIC_PARTS": "4",
            "KGO_LOG_LEVEL": "none",
        }
        command = ["./kgo.test", "-test.v", "-test.timeout", "570s"]
        command += [f"-test.run={pattern}" for pattern in selection]
        output = run_command(command, cwd=cache, log=cache / "log.txt", timeout_s=600, env=env)
        return {name: _OUTCOMES[how] for how, name in _LINE.findall(output)}


SUITE = FranzGo()
