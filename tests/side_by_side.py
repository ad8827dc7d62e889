"""Which tests stay together when two processes share them, and which begin first.

    the JVM of a process, a real Kafka     what uses one stays in one process, which starts it once
    a fixture of a file                    the file stays together
    programs of a test's own, a minute each    every test for itself
    all else                               the file stays together

Read off the text of the files, because the process that hands out tests collects none.
"""

import re
from functools import cache
from pathlib import Path
from typing import Final

from xdist.scheduler import LoadScopeScheduling

_ROOT: Final = Path(__file__).parents[1]
_SHARED: Final = (
    ("jvm", re.compile(r"\bSparkSession\b|\bOpenDriver\b")),
    ("kafka", re.compile(r"\bKafkaPeer\b")),
)
# The folders whose tests start programs.
_SLOW: Final = {"architecture", "conformance", "fault", "property"}


class Scheduler(LoadScopeScheduling):  # type: ignore[misc] # xdist publishes no types
    """Gives each process a group at a time, in the order in which the tests were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """Return the name of the tests that run in one process, one after the other."""
    path = nodeid.partition("::")[0]
    return _group_of_file(path) or nodeid


def rank(nodeid: str) -> int:
    """Return 0 for the tests that begin first."""
    group = group_of(nodeid)
    shared = [name for name, _ in _SHARED]
    if group in shared:
        return shared.index(group)
    return 2 if _SLOW & set(Path(group.partition("::")[0]).parts) else 3


@cache
def _group_of_file(path: str) -> str | None:
    """Return the group of a file's tests, None where each is one by itself."""
    file = _ROOT / path
    text = file.read_text() if file.is_file() else ""
    for name, pattern in _SHARED:
        if pattern.search(text):
            return name
    alone = _SLOW & set(Path(path).parts) and 'scope="module"' not in text
    return None if alone else path
