from pathlib import Path

import pytest

from duolog.core.units import MIB
from duolog.engine.jvm.free_memory import free_memory_bytes


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
        ({"proc/meminfo": "MemAvailable:"}, None),
    ],
)
def test_the_least_that_the_machine_and_the_container_have_left_counts(
    tmp_path: Path, files: dict[str, str], free: int | None
) -> None:
    write(tmp_path, files)

    assert free_memory_bytes(tmp_path) == free


def test_this_machine_has_some() -> None:
    assert free_memory_bytes() != 0
