"""The command: runs files of cases, a line for each on stderr, the sums by category on stdout.

The exit status is 0 if each case passes or is left out with its reason, else 1.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from duolog.testing.qtt.cases import Case, read_cases
from duolog.testing.qtt.listed import read_listed, write_listed
from duolog.testing.qtt.runner import Outcome, run_case
from duolog.testing.qtt.sampling import sample

_ENGINES: Final = (
    "driver: the kernel in memory; "
    "spark: streaming queries on a broker of their own, a record a micro-batch"
)


def main() -> int:
    options = _options()
    index, count = options.shard
    cases = list(read_cases(options.files))
    listed = read_listed(options.page) if options.listed else None
    chosen = [
        case
        for number, case in enumerate(cases)
        if number % count == index
        and (options.only is None or options.only.search(case.title))
        and (listed is None or case.title in listed)
    ]

    if options.sample:
        chosen = sample(chosen, options.sample)

    outcomes: list[Outcome] = []
    for outcome in _outcomes(chosen, options):
        outcomes.append(outcome)
        reason = outcome.reason.splitlines()[0][:200] if outcome.reason else ""
        print(
            f"{outcome.status} {outcome.case.title} {reason}".rstrip(), file=sys.stderr, flush=True
        )
    _print_sums(outcomes)
    if options.report:
        rows = [_row(outcome) for outcome in outcomes]
        options.report.write_text(json.dumps(rows, indent=1))
    if options.page:
        write_listed(options.page, cases, outcomes)
    return int(any(outcome.status in {"fail", "error"} for outcome in outcomes))


def _outcomes(cases: list[Case], options: argparse.Namespace) -> Iterator[Outcome]:
    if options.transport == "http":
        return _over_http(cases)
    return _on_spark(cases) if options.engine == "spark" else map(run_case, cases)


def _over_http(cases: list[Case]) -> Iterator[Outcome]:
    """Yield the outcome of each case, whose requests are sent to a server on loopback."""
    # Imported here: other runs do not need it.
    from duolog.testing.qtt.rest_server import RestServer  # noqa: PLC0415

    with RestServer() as server:
        for case in cases:
            yield run_case(case, transport=server.send)


def _on_spark(cases: list[Case]) -> Iterator[Outcome]:
    """Yield the outcome of each case on Spark's streaming queries, several at a time."""
    # Imported here: the driver does not need it.
    from duolog.testing.qtt.on_spark import SparkRuns  # noqa: PLC0415

    with SparkRuns() as runs:
        yield from runs.outcomes(cases)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m duolog.testing.qtt", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--engine", choices=["driver", "spark"], default="driver", help=_ENGINES)
    parser.add_argument(
        "--transport",
        choices=["in-process", "http"],
        default="in-process",
        help="how requests of REST cases are sent",
    )
    parser.add_argument(
        "--shard", type=_shard, default=(0, 1), help="I/N: every Nth case, from the Ith on"
    )
    parser.add_argument(
        "--sample", type=int, help="run a sample of this size, the same on every machine"
    )
    parser.add_argument("--only", type=re.compile, help="cases whose title has this")
    parser.add_argument("--report", type=Path, help="what became of each case, as JSON")
    parser.add_argument("--page", type=Path, help="a page that lists the cases that do not pass")
    parser.add_argument("--listed", action="store_true", help="those that the page lists, alone")
    options = parser.parse_args()
    if options.transport == "http" and options.engine == "spark":
        parser.error("--transport http is for --engine driver")
    if options.listed and not options.page:
        parser.error("--listed needs --page")
    return options


def _shard(text: str) -> tuple[int, int]:
    """Return index and count; N/N is the same as 0/N, so that counting may start from 0 or 1."""
    index, count = map(int, text.split("/"))
    return index % count, count


def _row(outcome: Outcome) -> dict[str, object]:
    return {
        "file": outcome.case.file,
        "name": outcome.case.name,
        "status": outcome.status,
        "reason": outcome.reason,
        "ms": outcome.ms,
    }


def _print_sums(outcomes: list[Outcome]) -> None:
    passed = Counter(one.case.category for one in outcomes if one.status == "pass")
    total = Counter(one.case.category for one in outcomes)
    for category in sorted(total):
        print(f"{category}: passed {passed[category]} of {total[category]}")
    print(f"passed {passed.total()} of {total.total()}")


if __name__ == "__main__":
    sys.exit(main())
