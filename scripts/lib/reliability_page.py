"""The reliability page, generated from the runs that `scripts/bench` has stored."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

from doctor_runs_page import doctor_runs_section
from soak_section import soak_section

RESULTS: Final = Path(__file__).parents[2] / "bench/results/kills.json"

INTRO: Final = """\
With `processing.guarantee=exactly_once_v2`, a reader of committed records sees each result exactly
once, whichever process is killed and whenever
([0068](adr/0068-commit-exactly-once-inside-sparks-commit.md)). The evidence:

- **Applications.** Three applications run in one JVM, with and without the record cache, in
  micro-batches and in real-time mode. They forward events, count them by a second key, join them
  with a table and sum them by a third key, over two partitions
  ([the ledger](../tests/fault/ledger.py)).
- **Kills.** SIGKILL hits the JVM, Python, both, or the broker, either at a point between two steps
  or at a random time ([the campaign](../tests/fault/campaign.py)). The points surround the commits
  of the state, of the transaction and of Spark ([the points](../tests/fault/points.py)). A JVM or a
  broker that was killed alone recovers by itself; then both JVM and Python are killed.
- **Clusters.** On a Spark cluster of two workers
  ([0077](adr/0077-commit-exactly-once-across-cluster-executors.md)), two of the applications run.
  The kills also hit an executor and a worker while tasks write, and the driver after an epoch is
  decided and before the executors' transactions are committed.
- **Verification.** A checker that knows only the input ([the history](../tests/fault/history.py))
  reads all result topics with read_committed. After each kill, while nothing runs, all sinks must
  contain results of the same events, and epochs must not go back. (On a cluster, sinks are compared
  only at the end: a decided epoch may be partly visible until the next start.) At the end, each
  event was forwarded once and in order, each account has the counts 1, 2, 3 … once, each sum
  matches its events, and the last rows equal those of a replay. With at-least-once processing, the
  same checker finds duplicates, and no missing or wrong results.

`scripts/test --deep tests/fault/test_ledger_kills.py` runs at least 220 kills;
`tests/fault/test_ledger_on_cluster.py` runs those on clusters. `scripts/bench kills` wrote the
counts below."""
NONE_YET: Final = "No campaign has been stored yet."
HEAD: Final = (
    "| broker | place | guarantee | seed | kills | events | results | aborted | checks between "
    "kills | anomalies | commit | machine | seconds |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def reliability_page() -> str:
    """Return the page."""
    campaigns = json.loads(RESULTS.read_text())["campaigns"] if RESULTS.exists() else []
    if not campaigns:
        return f"# Kill tests of exactly-once processing\n\n{INTRO}\n\n{NONE_YET}"
    kills: Counter[str] = Counter()
    for one in campaigns:
        kills.update(one["kills"])
    rows = "\n".join(map(_row, campaigns))
    where = "\n".join(f"| {name} | {count} |" for name, count in sorted(kills.items()))
    parts = ["# Kill tests of exactly-once processing", INTRO, "## Campaigns", f"{HEAD}\n{rows}"]
    parts += [
        f"## {kills.total()} kills, by process and point",
        f"| process and point | kills |\n|---|---|\n{where}",
    ]
    parts += [doctor_runs_section(), soak_section()]
    return "\n\n".join(part for part in parts if part)


def _row(one: dict[str, Any]) -> str:
    machine = one["machine"]
    found = ", ".join(f"{count} {kind}" for kind, count in sorted(one["kinds"].items())) or "none"
    cells = [
        one["broker"],
        one.get("place", "one JVM"),
        one["guarantee"],
        one["seed"],
        sum(one["kills"].values()),
        one["events"],
        one["results"],
        one["aborted"],
        one["looks"],
        found,
        one["commit"],
        f"{machine['cores']} cores, {machine['memory_gib']} GiB, Linux {machine['kernel']}",
        one["seconds"],
    ]
    return f"| {' | '.join(map(str, cells))} |"
