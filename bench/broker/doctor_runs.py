"""Crash, damage and mutate by seeds, for the counts in docs/reliability.md.

    scripts/bench doctor_runs --crashes 0 10000     crashes of the disk in memory, by their seeds
    scripts/bench doctor_runs --frames 0 1000000    mutated requests to a broker, by their seeds
    scripts/bench doctor_runs --bits 0 40           parts of all flipped bits, of 40

A run adds its counts to bench/results/doctor.json. It replaces an earlier one of the same range. A
problem ends it with status 1, and nothing is stored.
"""

import argparse
import json
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench.common.results_file import RESULTS_DIR, commit_id, machine

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from fault.mutated_frames import send_mutated
from property.doctor_crashes import findings_after_crashes
from unit.log.doctor.flipped_bits import flip_bits

RESULTS: Final = RESULTS_DIR / "doctor.json"

Counts = dict[str, int]


def crashes(seeds: range) -> tuple[Counts, list[str]]:
    """Crash by each seed; count the examinations after crashes and after starts."""
    counts: Counter[str] = Counter()
    problems = []
    for seed in seeds:
        counts["seeds"] += 1
        for when, found in findings_after_crashes(seed):
            counts["after a crash" if when == "crash" else "after a start"] += 1
            problems += [f"seed {seed}, {when}: {one}" for one in found]
    return dict(counts), problems


def frames(seeds: range) -> tuple[Counts, list[str]]:
    """Send a mutated request by each seed."""
    outcome = send_mutated(seeds)
    counts = {"frames": outcome.frames, "answered": outcome.answered, "closed": outcome.closed}
    return counts, outcome.problems


def bits(parts: range) -> tuple[Counts, list[str]]:
    """Flip the bits of these parts, in each of the directories."""
    counts: Counter[str] = Counter()
    problems = []
    for part in parts:
        flipped = flip_bits(part)
        counts.update(flipped.counts)
        problems += flipped.unnoticed
    return dict(counts), problems


KINDS: Final[dict[str, Callable[[range], tuple[Counts, list[str]]]]] = {
    "crashes": crashes,
    "frames": frames,
    "bits": bits,
}


def store(kind: str, chosen: range, counts: Counts, seconds: float) -> None:
    """Add the counts of a run; it replaces that of the same range."""
    kept: list[dict[str, Any]] = []
    if RESULTS.exists():
        kept = json.loads(RESULTS.read_text())["runs"]
    run = {
        "kind": kind,
        "first": chosen.start,
        "end": chosen.stop,
        "counts": counts,
        "ran_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds),
        "commit": commit_id(),
        "machine": machine(),
    }
    place = ("kind", "first", "end")
    kept = [one for one in kept if any(one[name] != run[name] for name in place)]
    kept = sorted([*kept, run], key=lambda one: (one["kind"], one["first"]))
    RESULTS.write_text(json.dumps({"runs": kept}, indent=1) + "\n")
    print(json.dumps(run))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for kind in KINDS:
        parser.add_argument(f"--{kind}", nargs=2, type=int, metavar=("FIRST", "END"))
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL if arguments.frames is None else logging.INFO)
    for kind, run in KINDS.items():
        chosen = getattr(arguments, kind)
        if chosen is None:
            continue
        began = time.monotonic()
        counts, problems = run(range(*chosen))
        if problems:
            print("\n".join(problems), file=sys.stderr)
            return 1
        store(kind, range(*chosen), counts, time.monotonic() - began)
    return 0


if __name__ == "__main__":
    sys.exit(main())
