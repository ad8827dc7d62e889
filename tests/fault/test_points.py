"""The points of the kernel's sources are those that the tests know."""

import re
from pathlib import Path

from fault.points import POINTS

KERNEL = Path(__file__).parents[2] / "jvm" / "src" / "org" / "duolog" / "kernel"
AT = re.compile(r'FailPoints\.at\(\s*(\w+ \+ )?"([a-z.-]+)"')
LOGS = ("state", "offsets", "commits")


def test_each_point_of_the_kernel_is_listed_and_each_listed_one_is_in_the_kernel() -> None:
    found = set()
    for source in KERNEL.rglob("*.java"):
        for kind, name in AT.findall(source.read_text()):
            found |= {log + name for log in LOGS} if kind else {name}

    assert found == POINTS.keys()
