"""The command: runs files of cases, a line for each on stderr, the sums by category on stdout."""

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path

from duolog.testing.qtt.cases import read_cases
from duolog.testing.qtt.runner import Outcome, run_case


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m duolog.testing.qtt", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--engine", choices=["driver"], default="driver")
    parser.add_argument("--shard", default="0/1", help="I/N: every Nth case, from the Ith on")
    parser.add_argument("--only", type=re.compile, help="cases whose title has this")
    parser.add_argument("--report", type=Path, help="what became of each case, as JSON")
    options = parser.parse_args()
    index, count = map(int, options.shard.split("/"))

    outcomes: list[Outcome] = []
    for number, case in enumerate(read_cases(options.files)):
        if number % count != index or (options.only and not options.only.search(case.title)):
            continue
        outcome = run_case(case)
        outcomes.append(outcome)
        reason = outcome.reason.splitlines()[0][:200] if outcome.reason else ""
        print(f"{outcome.status} {case.title} {reason}".rstrip(), file=sys.stderr, flush=True)
    _print_sums(outcomes)
    if options.report:
        rows = [
            {
                "file": one.case.file,
                "name": one.case.name,
                "status": one.status,
                "reason": one.reason,
                "ms": one.ms,
            }
            for one in outcomes
        ]
        options.report.write_text(json.dumps(rows, indent=1))
    return 0


def _print_sums(outcomes: list[Outcome]) -> None:
    passed = Counter(one.case.category for one in outcomes if one.status == "pass")
    total = Counter(one.case.category for one in outcomes)
    for category in sorted(total):
        print(f"{category}: passed {passed[category]} of {total[category]}")
    print(f"passed {passed.total()} of {total.total()}")


if __name__ == "__main__":
    sys.exit(main())
