"""Our own checks with KafkaJS: each login over TLS, and the checks of `kafkajs` after one."""

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.outcomes import Outcome
from lib.suite import fetch, run_command
from lib.users import add_users, certificates, port, token

HERE = Path(__file__).parent
USER, PASSWORD = "noder", "noders-secret"
_LINE = re.compile(r"^(ok|not ok) - (.+)$", re.MULTILINE)


class KafkaJsSasl:
    """The checks of `logins.js`, and those of KafkaJS without security with SCRAM over TLS."""

    client = "KafkaJS 2.2.4"
    settings: Mapping[str, str] = MappingProxyType({})
    secured = True

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        del bootstrap_servers
        plain = HERE.with_name("kafkajs")
        fetch(plain, cache)
        add_users({USER: PASSWORD})
        sasl = f"127.0.0.1:{port('SASL_SSL')}"
        given = {
            "sasl": sasl,
            "mutual": f"127.0.0.1:{port('SSL')}",
            "user": USER,
            "password": PASSWORD,
            "token": token(USER),
        }
        options = {
            "ssl": {"ca": [(certificates() / "ca.pem").read_text()]},
            "sasl": {"mechanism": "scram-sha-512", "username": USER, "password": PASSWORD},
        }
        env = os.environ | {
            "NODE_PATH": str(cache / "node_modules"),
            "KAFKAJS_NO_PARTITIONER_WARNING": "1",
            "KAFKAJS_OPTIONS": json.dumps(options),
        }
        logins = subprocess.run(
            ["node", str(HERE / "logins.js"), str(certificates())],
            env=env, input=json.dumps(given), capture_output=True, text=True, timeout=300,
            check=False,
        )  # fmt: skip
        (cache / "logins.txt").write_text(logins.stdout + logins.stderr)
        command = ["node", str(plain / "checks.js"), sasl, *selection]
        log = cache / "log.txt"
        output = run_command(command, cwd=cache, log=log, timeout_s=300, env=env)
        return {
            name: Outcome.PASSED if how == "ok" else Outcome.FAILED
            for how, name in _LINE.findall(logins.stdout + "\n" + output)
        }


SUITE = KafkaJsSasl()
