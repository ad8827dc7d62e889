"""Interpret the name of a Spark master: where tasks run, and which address of ours they reach.

local, local[64], local[*,2]     tasks are threads of the one JVM that this process starts
local-cluster[2,8,1024]          executors are processes of this machine, for tests
spark://host:7077[,host:7077]    a standalone cluster
yarn, k8s://https://…            clusters in which a resource manager starts the executors
"""

import contextlib
import os
import re
import socket
from collections.abc import Iterator
from typing import Final

_LOCAL: Final = re.compile(r"local(\[.*\])?")
_LOCAL_CLUSTER: Final = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\]")
_STANDALONE: Final = "spark://"
_STANDALONE_PORT: Final = 7077
_LOOPBACK: Final = "127.0.0.1"
# The discard port: connecting a UDP socket sends nothing.
_DISCARD_PORT: Final = 9
_LOCAL_IP: Final = "SPARK_LOCAL_IP"
_LOCAL_NAME: Final = "SPARK_LOCAL_HOSTNAME"


def is_one_jvm(master: str) -> bool:
    """Return whether all tasks run in the JVM of this process.

    Example:
        >>> [is_one_jvm(master) for master in ("local[64]", "local-cluster[2,8,1024]", "spark://a:7077")]
        [True, False, False]
    """
    return _LOCAL.fullmatch(master) is not None


def promised_slots(master: str) -> int | None:
    """Return the number of slots that a master's name states; None if only the cluster knows.

    Example:
        >>> promised_slots("local[64]"), promised_slots("local-cluster[2,8,1024]")
        (64, 16)
    """
    if found := _LOCAL_CLUSTER.fullmatch(master):
        return int(found[1]) * int(found[2])
    if not is_one_jvm(master):
        return None
    inside = master.partition("[")[2].rstrip("]").split(",")[0]
    return int(inside) if inside.isdigit() else 1


def standalone_masters(master: str) -> list[tuple[str, int]]:
    """Return the addresses of a standalone cluster's masters; an empty list for any other master.

    Example:
        >>> standalone_masters("spark://one:7077,two:7078")
        [('one', 7077), ('two', 7078)]
    """
    if not master.startswith(_STANDALONE):
        return []
    pairs = [part.rpartition(":") for part in master.removeprefix(_STANDALONE).split(",")]
    return [
        (host, int(port)) if colon and port.isdigit() else (port, _STANDALONE_PORT)
        for host, colon, port in pairs
    ]


def driver_host(master: str) -> str | None:
    """Return the address of this machine for executors; None lets Spark choose it.

    This is the address of the interface that leads to the master. A name is resolved, but nothing
    is sent.
    """
    if promised_slots(master) is not None:
        return _LOOPBACK
    for host, _ in standalone_masters(master):
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.connect((host, _DISCARD_PORT))
                return str(probe.getsockname()[0])
        except OSError:
            continue
    return None


@contextlib.contextmanager
def local_address(master: str) -> Iterator[None]:
    """Make a JVM that starts within the block use `driver_host`, unless the user sets an address.

    Otherwise Spark resolves the host name, and fails to start on a machine whose name does not
    resolve.
    """
    host = driver_host(master)
    if host is None or _LOCAL_IP in os.environ or _LOCAL_NAME in os.environ:
        yield
        return
    os.environ[_LOCAL_IP] = host
    try:
        yield
    finally:
        os.environ.pop(_LOCAL_IP, None)
