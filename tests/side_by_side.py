"""Group tests that share a process, and rank the groups that start first.

    Kafka Streams as the oracle            these share one process, which starts its JVM once
    a JVM with a broker                    these share a process and its JVM; those whose state moves
                                           share another one: exactly once, changelogs, restores,
                                           upgrades, other numbers of tasks
    a JVM alone                            share a process: each takes minutes, and none a third of the whole
    a real Kafka                           share a process
    the console in a browser               share a process, with one server and one browser
    a fixture of a file                    the file stays together
    programs started by a test             each test is a group; each takes a minute
    all else                               the file stays together

Tests that share a process run one after the other: three processes share two cores, so such a
group takes half again its processor time. All tests with a JVM and a broker take 900 s of it, and
delayed a run of 15 minutes; in two groups they do not.

The text of each file decides its group, because the process that distributes tests does not
collect them.
"""

import re
from functools import cache
from pathlib import Path
from typing import Final

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

_ROOT: Final = Path(__file__).parents[1]
_JVM: Final = re.compile(r"\bSparkSession\b|\bOpenDriver\b")
_KAFKA: Final = re.compile(r"\bKafkaPeer\b|\bkafka_peer\b|\bSecuredPeer\b|\bsecured_peer\b")
_BROKER: Final = re.compile(_KAFKA.pattern + r"|\bEmbeddedCluster\b")
_MOVES: Final = re.compile(r"exactly_once|EXACTLY|repartition|restore|changelog|upgrade")
_ORACLE: Final = re.compile(r"\bKafkaStreams\b|\bkafka_streams\b")
_SHARED: Final = {
    "oracle": (_ORACLE,),
    "jvm, broker and state that moves": (_JVM, _BROKER, _MOVES),
    "jvm and broker": (_JVM, _BROKER),
    "jvm": (_JVM,),
    "kafka": (_KAFKA,),
}
_CONSOLE: Final = "console"
_CONSOLE_TESTS: Final = "tests/console/"
# The folders whose tests start programs.
_SLOW: Final = {"architecture", "conformance", "fault", "property", "suite"}


class Scheduler(LoadScopeScheduling):  # type: ignore[misc] # xdist publishes no types
    """Gives each process a group at a time, in the order in which the tests were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)

    def remove_node(self, node: WorkerController) -> str | None:
        """Give the remaining tests of a crashed process to the others; return the test that it crashed in.

        That test has failed, and does not run again alongside others. Completed groups are not passed
        on: xdist passes them on, too, and waits forever for the process that gets one, because it has
        nothing to run and reports nothing.
        """
        workload: dict[str, dict[str, bool]] = self.assigned_work.pop(node)
        open_tests = [
            (group, nodeid)
            for group, done in workload.items()
            for nodeid in done
            if not done[nodeid]
        ]
        if not open_tests:
            return None
        group, crashed = open_tests[0]
        workload[group][crashed] = True
        self.workqueue.update({g: done for g, done in workload.items() if not all(done.values())})
        for other in self.assigned_work:
            self._reschedule(other)
        return crashed


def group_of(nodeid: str) -> str:
    """Return the name of the tests that run in one process, one after the other."""
    path = nodeid.partition("::")[0]
    return _group_of_file(path) or nodeid


def rank(nodeid: str) -> int:
    """Return 0 for the tests that begin first."""
    group = group_of(nodeid)
    shared = list(_SHARED)
    if group in shared:
        return shared.index(group)
    is_slow = group == _CONSOLE or bool(_SLOW & set(Path(group.partition("::")[0]).parts))
    return len(shared) + (not is_slow)


@cache
def _group_of_file(path: str) -> str | None:
    """Return the group of a file's tests, or None if each test is its own group."""
    if path.startswith(_CONSOLE_TESTS):
        return _CONSOLE
    file = _ROOT / path
    text = file.read_text() if file.is_file() else ""
    for name, patterns in _SHARED.items():
        if all(pattern.search(text) for pattern in patterns):
            return name
    alone = _SLOW & set(Path(path).parts) and 'scope="module"' not in text
    return None if alone else path
