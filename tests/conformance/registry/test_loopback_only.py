"""A machine whose only addresses are those of loopback, such as a sandbox without a network.

librdkafka asks for addresses of configured families (AI_ADDRCONFIG), and loopback does not count:
a client that is restricted to IPv4 finds no address then, not even 127.0.0.1.
"""

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest

DEADLINE_S = 90.0
BROKER, REGISTRY = "127.0.0.1:9092", "127.0.0.1:8081"
"""All ports are free in a namespace of its own."""
DUOLOG = str(Path(sys.executable).with_name("duolog"))
UP = 'ip link set lo up && exec "$@"'
IN_A_NAMESPACE = ["unshare", "-r", "-n", "sh", "-c", UP, "sh"]


def works() -> bool:
    """Return whether this machine lets a test make a namespace."""
    if not all(map(shutil.which, ("unshare", "nsenter", "ip"))):
        return False
    return (
        subprocess.run([*IN_A_NAMESPACE, "true"], capture_output=True, check=False).returncode == 0
    )


pytestmark = pytest.mark.skipif(not works(), reason="no network namespace can be made here")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    words = ["broker", "--data", str(tmp_path / "data"), "--listen", BROKER]
    process = subprocess.Popen(
        [*IN_A_NAMESPACE, DUOLOG, *words, "--registry", REGISTRY],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    timer = Timer(DEADLINE_S, process.kill)
    timer.start()
    try:
        yield process
    finally:
        timer.cancel()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=DEADLINE_S)


def test_a_broker_starts_with_its_registry(broker: subprocess.Popen[str]) -> None:
    assert broker.stdout is not None

    ready = [broker.stdout.readline(), broker.stdout.readline()]
    inside = ["nsenter", "--preserve-credentials", "-U", "-n", "-t", str(broker.pid)]
    listed = subprocess.run(
        [*inside, DUOLOG, "topics", "list", "-b", BROKER],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )

    assert [line.split(" ready on ")[0] for line in ready] == ["duolog broker", "duolog registry"]
    assert listed.returncode == 0, listed.stderr
