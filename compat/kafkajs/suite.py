"""Our own checks with KafkaJS, in `checks.js`: KafkaJS's tests need a cluster of three brokers."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.outcomes import Outcome
from lib.suite import fetch, run_command

_LINE = re.compile(r"^(ok|not ok) - (.+)$", re.MULTILINE)
HERE = Path(__file__).parent


class KafkaJs:
    """The checks of `checks.js`."""

    client = "KafkaJS 2.2.4"
    settings: Mapping[str, str] = MappingProxyType({})

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        fetch(HERE, cache)
        env = os.environ | {
            "NODE_PATH": str(cache / "node_modules"),
            "KAFKAJS_NO_PARTITIONER_WARNING": "1",
        }
        command = ["node", str(HERE / "checks.js"), bootstrap_servers, *selection]
        output = run_command(command, cwd=cache, log=cache / "log.txt", timeout_s=300, env=env)
        return {
            name: Outcome.PASSED if how == "ok" else Outcome.FAILED
            for how, name in _LINE.findall(output)
        }


SUITE = KafkaJs()
