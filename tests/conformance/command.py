"""Run `duolog` as a user calls it."""

import subprocess
import sys


class Duolog:
    """Runs `duolog` against one cluster."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers

    def __call__(
        self, *words: str, stdin: str = "", servers: str = "", timeout_s: float = 60
    ) -> subprocess.CompletedProcess[str]:
        given = "-b", servers or self.bootstrap_servers
        return self.run(*words, *given, stdin=stdin, timeout_s=timeout_s)

    def run(
        self, *words: str, stdin: str = "", timeout_s: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run a command without a cluster address."""
        return subprocess.run(
            [sys.executable, "-m", "duolog", *words],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )
