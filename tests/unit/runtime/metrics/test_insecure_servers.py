"""Servers that are open to the network are listed while they run, and not afterwards."""

import subprocess
import sys
from pathlib import Path

import pytest

from duolog.runtime.metrics.insecure_servers import insecure_servers

_SERVER = """
import sys
from duolog.runtime.metrics.insecure_servers import note_insecure
note_insecure(["broker, listener A at 0.0.0.0:1: nothing is encrypted", "metrics at 0.0.0.0:2"])
print("noted", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("killed", [False, True])
def test_a_server_is_listed_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, killed: bool
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert insecure_servers() == []
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"noted\n"

        assert insecure_servers() == [
            f"broker, listener A at 0.0.0.0:1: nothing is encrypted (process {server.pid})",
            f"metrics at 0.0.0.0:2 (process {server.pid})",
        ]

        if killed:
            server.kill()
        server.communicate(timeout=60)

    assert insecure_servers() == []
    assert list(tmp_path.glob("duolog/*")) == []
