"""The section of the reliability page on the soak: everything at once, for long.

Its figures come from the run that `scripts/bench soak` has stored.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

RESULTS: Final = Path(__file__).parents[2] / "bench/results/soak.json"

INTRO: Final = """\
## Everything at once for half an hour

`scripts/bench soak` runs `duolog start` with 20 persistent queries, 100 clients with push queries
and clients that send pull queries as fast as the machine answers, up to 1,000 per second. It kills
the server twice and the broker once. At the end it computes every result from the events and
compares it with the topics of the queries, with each pushed row and with each answer
([the verdicts](../bench/soak/verdicts.py)). Memory grows if the last third of the
samples of a process is more than a tenth larger than the second third
([the rule](../bench/soak/memory.py)).
Its last run:"""
_HEAD: Final = "| what | found |\n|---|---|"


def soak_section() -> str:
    """Return the section; empty if there is no run yet."""
    if not RESULTS.exists():
        return ""
    run = json.loads(RESULTS.read_text())
    rows = "\n".join(f"| {name} | {found} |" for name, found in _rows(run).items())
    return f"{INTRO}\n\n{_HEAD}\n{rows}"


def _rows(run: Mapping[str, Any]) -> dict[str, str]:
    pull, push, queries, machine = run["pull"], run["push"], run["queries"], run["machine"]
    wrong = sum(one["wrong"] for one in queries)
    kills = ", ".join(f"{one['what']} away for {one['away_s']} s" for one in run["kills"])
    return {
        "time, commit": f"{run['minutes']:g} minutes, {run['commit']}",
        "machine": f"{machine['cores']} cores, {machine['memory_gib']} GiB, with other work on it",
        "kills": kills,
        "rows of persistent queries": f"{sum(one['rows'] for one in queries):,}, {wrong} wrong",
        "pushed rows": f"{push['rows']:,}, {len(push['violations'])} wrong",
        "answers of pull queries": f"{pull['answers']:,} ({pull['answers_per_s']:g}/s), "
        f"{len(pull['violations'])} wrong",
        "their times": f"p50 {pull['p50_ms']:g} ms, p99 {pull['p99_ms']:g} ms",
        "memory, at most": _memory(run["memory"]),
        "violations": str(len(run["violations"])),
    }


def _memory(processes: list[dict[str, Any]]) -> str:
    """Return the largest size of each kind of process, and whether one has grown."""
    names = dict.fromkeys(one["process"] for one in processes)
    shown = []
    for name in names:
        mine = [one for one in processes if one["process"] == name]
        grows = any(one["flat"] is False for one in mine)
        shown.append(
            f"{name} {max(one['most_mib'] for one in mine):,} MiB{', grows' if grows else ''}"
        )
    return "; ".join(shown)
