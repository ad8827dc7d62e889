from pathlib import Path

import pytest

from duolog.core.operating_system.free_memory import free_memory_bytes
from duolog.core.units import MIB


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


MACHINE = {"proc/meminfo": "MemTotal: 9000000 kB\nMemFree: 1 kB\nMemAvailable: 2048000 kB\n"}
OWN = {"proc/self/cgroup": "0::/user.slice/app\n"}


def group(most: str, at: str) -> dict[str, str]:
    place = f"sys/fs/cgroup{at}"
    return {
        f"{place}/memory.max": f"{most}\n",
        f"{place}/memory.current": f"{500 * MIB}\n",
        f"{place}/memory.stat": f"anon 5\ninactive_file {100 * MIB}\nactive_file 7\n",
    }


def group_1(most: int, at: str) -> dict[str, str]:
    place = f"sys/fs/cgroup/memory{at}"
    return {
        f"{place}/memory.limit_in_bytes": f"{most}\n",
        f"{place}/memory.usage_in_bytes": f"{500 * MIB}\n",
        f"{place}/memory.stat": f"inactive_file 5\ntotal_inactive_file {100 * MIB}\n",
    }


OWN_1 = {"proc/self/cgroup": "12:cpu,cpuacct:/\n5:blkio,memory:/docker/4f\n1:name=systemd:/x:y\n"}
NO_LIMIT_1 = 2**63 - 4096


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({}, None),
        (MACHINE, 2000 * MIB),
        (MACHINE | OWN, 2000 * MIB),
        (MACHINE | OWN | group(str(700 * MIB), "/user.slice/app"), 300 * MIB),
        (MACHINE | OWN | group("max", "/user.slice/app"), 2000 * MIB),
        # As in a container.
        (MACHINE | {"proc/self/cgroup": "0::/\n"} | group(str(450 * MIB), ""), 50 * MIB),
        (OWN | group(str(300 * MIB), ""), 0),
        # A group around its own one has less.
        (
            MACHINE | OWN | group("max", "/user.slice/app") | group(str(450 * MIB), "/user.slice"),
            50 * MIB,
        ),
        (
            MACHINE
            | OWN
            | group(str(700 * MIB), "/user.slice/app")
            | group(str(900 * MIB), "/user.slice")
            | group(str(600 * MIB), ""),
            200 * MIB,
        ),
        # Version 1.
        (MACHINE | OWN_1 | group_1(450 * MIB, "/docker/4f"), 50 * MIB),
        (MACHINE | OWN_1 | group_1(NO_LIMIT_1, "/docker/4f"), 2000 * MIB),
        (
            MACHINE
            | OWN_1
            | group_1(NO_LIMIT_1, "/docker/4f")
            | group_1(450 * MIB, "/docker")
            | group_1(NO_LIMIT_1, ""),
            50 * MIB,
        ),
        # As in a container of version 1.
        (MACHINE | OWN_1 | group_1(450 * MIB, ""), 50 * MIB),
        # Both: memory is bound by version 1.
        (
            MACHINE | {"proc/self/cgroup": "5:memory:/a\n0::/a\n"} | group_1(450 * MIB, "/a"),
            50 * MIB,
        ),
        # Outside of what a container sees.
        (MACHINE | {"proc/self/cgroup": "0::/../x\n"} | group(str(450 * MIB), ""), 50 * MIB),
        (MACHINE | {"proc/self/cgroup": "what"}, 2000 * MIB),
        ({"proc/meminfo": "MemAvailable:"}, None),
    ],
)
def test_the_least_that_the_machine_and_the_container_have_left_counts(
    tmp_path: Path, files: dict[str, str], free: int | None
) -> None:
    write(tmp_path, files)

    assert free_memory_bytes(tmp_path) == free


def test_this_machine_reports_free_memory() -> None:
    assert free_memory_bytes() != 0
