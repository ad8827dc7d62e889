"""The section of the reliability page on crashes, damage and mutated requests.

Its counts come from the runs that `scripts/bench doctor_runs` has stored.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

RESULTS: Final = Path(__file__).parents[2] / "bench/results/doctor.json"

INTRO: Final = """\
## Crashes, damage and mutated requests

`duolog doctor` ([0126](adr/0126-examine-a-directory-by-rehearsing-its-start.md)) examines data
directories on a disk in memory that keeps, after a power failure, a random part of what was not
synced.

- **Crashes.** A seed decides the life of a directory: several partitions with a shared journal,
  transactions with deletions, or a compaction; and when the power fails or the process is killed
  ([the lives](../tests/property/doctor_crashes.py)). After each crash, and after the start that
  recovers from it, the doctor must report nothing but notes.
- **Flipped bits.** Each bit of each file of a small directory is flipped alone: after a clean stop,
  after a kill, and after a copy to another machine
  ([the bits](../tests/unit/log/doctor/flipped_bits.py)). The doctor must find it, or a broker must
  serve the same as before. Leader epochs in record batches are left out of that comparison.
- **Mutated requests.** One to three mutations of a request of any API are sent to a broker
  ([the mutations](../tests/fault/mutated_frames.py)). No handler may raise what it did not expect,
  and another client must still be served.

A run with a problem stores nothing. `scripts/bench doctor_runs` wrote these counts:"""

_NAMES: Final = {
    "crashes": ("seeds", ("after a crash", "after a start")),
    "bits": ("bits", ("found", "harmless")),
    "frames": ("frames", ("answered", "closed")),
}
_BIT_PARTS: Final = 40
"""`PARTS` of tests/unit/log/doctor/flipped_bits.py: the bits are spread over them evenly."""
_HEAD: Final = (
    "| run | count | of these | problems | commits | seconds |\n|---|---|---|---|---|---|"
)


def doctor_runs_section() -> str:
    """Return the section; empty if there is no run yet."""
    runs = json.loads(RESULTS.read_text())["runs"] if RESULTS.exists() else []
    if not runs:
        return ""
    rows = [_row(kind, [one for one in runs if one["kind"] == kind]) for kind in _NAMES]
    return f"{INTRO}\n\n{_HEAD}\n" + "\n".join(row for row in rows if row)


def _row(kind: str, runs: list[dict[str, Any]]) -> str:
    if not runs:
        return ""
    counts: Counter[str] = Counter()
    for one in runs:
        counts.update(one["counts"])
    whole, parts = _NAMES[kind]
    shown = ", ".join(f"{counts[part]:,} {part}" for part in parts)
    commits = ", ".join(sorted({one["commit"] for one in runs}))
    seconds = sum(one["seconds"] for one in runs)
    count = f"{counts[whole]:,} {whole}"
    if kind == "bits":
        count += f" ({sum(one['end'] - one['first'] for one in runs)} of {_BIT_PARTS} parts)"
    return f"| {kind} | {count} | {shown} | none | {commits} | {seconds} |"
