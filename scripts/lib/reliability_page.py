"""The page of kills, written from what `scripts/bench kills` keeps of its campaigns."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

RESULTS: Final = Path(__file__).parents[2] / "bench/results/kills.json"

INTRO: Final = """\
With `processing.guarantee=exactly_once_v2` each result is there once for readers of committed records, whatever is killed where
([0068](adr/0068-commit-exactly-once-inside-sparks-commit.md)). What this rests on:

- Three applications in one JVM, with the record cache and without it, in micro-batches and in real time: events pass, are counted by
  another key, joined with a table and added up by a third key, over two partitions ([the ledger](../tests/fault/ledger.py)).
- SIGKILL of the JVM, of Python, of both or of the broker, at a point between two steps or at a random time
  ([the campaign](../tests/fault/campaign.py)); points stand between the state's commit, the transaction's and Spark's
  ([the points](../tests/fault/points.py)). A JVM or a broker that was killed alone comes back by itself, and then both are killed.
- On a Spark cluster ([0077](adr/0077-commit-exactly-once-across-cluster-executors.md)) of two workers, with two of the applications: of an executor and of a
  worker, too, while tasks write, and of the driver between the decision that an epoch counts and the ends of the executors' transactions.
- A judge that knows the input alone ([the history](../tests/fault/history.py)) reads all result topics as a reader of committed
  records: after each kill, when nothing runs, sinks must tell of the same events (on a cluster at the end alone: what counts
  may be seen in part until the next start), and epochs must go on; at the end each event has
  passed once and in order, each account has the counts 1, 2, 3 … once, sums are of its events, and the last rows are those of a
  replay. With at least once the same judge finds duplicates, and nothing that is missing or wrong.

`scripts/test --deep tests/fault/test_ledger_kills.py` has 220 kills and more, `tests/fault/test_ledger_on_cluster.py` those on clusters. The counts here were written by `scripts/bench kills`."""
NONE_YET: Final = "No campaign has been kept yet."
HEAD: Final = (
    "| broker | place | guarantee | seed | kills | events | results | aborted | looks between kills | anomalies | commit | machine | seconds |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def reliability_page() -> str:
    """Return the page."""
    campaigns = json.loads(RESULTS.read_text())["campaigns"] if RESULTS.exists() else []
    if not campaigns:
        return f"# What kills have found\n\n{INTRO}\n\n{NONE_YET}"
    kills: Counter[str] = Counter()
    for one in campaigns:
        kills.update(one["kills"])
    rows = "\n".join(map(_row, campaigns))
    where = "\n".join(f"| {name} | {count} |" for name, count in sorted(kills.items()))
    parts = ["# What kills have found", INTRO, "## Campaigns", f"{HEAD}\n{rows}"]
    parts += [
        f"## What was killed, where: {kills.total()} times",
        f"| | kills |\n|---|---|\n{where}",
    ]
    return "\n\n".join(parts)


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
