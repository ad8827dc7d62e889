"""Unfinished requests take no more memory of a broker's process than their budget, for any client."""

import socket
import time
from pathlib import Path
from typing import Final

from duolog.core.units import MIB
from duolog.protocol.produce import API_KEY
from duolog.runtime.broker_process import BrokerProcess

CONNECTIONS: Final = 12
FRAME: Final = 90 * MIB
BUDGET: Final = 512 * MIB
BESIDES: Final = 64 * MIB
PIECE: Final = bytes(4 * MIB)


def most_memory(pid: int) -> int:
    """Return the largest resident set that a process has had, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = (row for row in status if row.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def send_some(client: socket.socket, left: int) -> int:
    """Send as much as the broker accepts; return the rest."""
    try:
        return left - client.send(PIECE[:left]) if left else 0
    except BlockingIOError:
        return left


def test_unfinished_frames_of_many_connections_stay_within_the_budget(tmp_path: Path) -> None:
    """Twelve unfinished frames of 90 MB used to take 3.3 GB."""
    head = FRAME.to_bytes(4) + API_KEY.to_bytes(2) + b"\0\x09" + bytes(4) + b"\xff\xff\0"
    with BrokerProcess(tmp_path / "data") as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        before = most_memory(broker.pid)
        clients = [socket.create_connection((host, int(port))) for _ in range(CONNECTIONS)]
        for client in clients:
            client.sendall(head)
            client.settimeout(0)
        left = [FRAME - MIB] * CONNECTIONS

        moved_at = time.monotonic()
        while time.monotonic() < moved_at + 1:
            now = [send_some(client, rest) for client, rest in zip(clients, left, strict=True)]
            if now != left:
                left, moved_at = now, time.monotonic()
            time.sleep(0.005)

        most = most_memory(broker.pid)
        for client in clients:
            client.close()

    # One that has come to its end is done with, and makes room for others.
    taken = sum(FRAME - rest for rest in left if rest)
    assert taken < (CONNECTIONS * FRAME + BUDGET) / 2, "more was taken than the budget"
    assert most - before <= BUDGET + FRAME + BESIDES
