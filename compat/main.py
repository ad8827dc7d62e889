"""Runs client suites: `main.py [--peer] [NAME... [-- SELECTION]]`."""

import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import cast

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from lib.broker import apache_kafka, duolog, none, secured  # noqa: E402
from lib.outcomes import Outcome, Outcomes, Verdict, compare, read_expected  # noqa: E402
from lib.suite import CACHE, Suite, folder_of_results, is_of_sql_server, is_project, is_secured  # noqa: E402

NAMES = sorted(path.parent.name for path in HERE.glob("*/suite.py"))


def load(name: str) -> Suite:
    spec = spec_from_file_location(f"suite_{name}", HERE / name / "suite.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("Suite", module.SUITE)


def report(name: str, verdict: Verdict, seconds: float) -> None:
    counts = ", ".join(f"{verdict.counts[outcome]} {outcome}" for outcome in Outcome)
    expected = len(verdict.expected_failures)
    print(f"{name}: {counts}; {expected} of the failures are expected; {seconds:.0f} s")
    for test in verdict.unexpected_failures:
        print(f"  failed, not expected: {test}")
    for test in verdict.unexpected_passes:
        print(f"  passed, although a failure is expected: {test}")


def keep(
    name: str,
    client: str,
    outcomes: Outcomes,
    verdict: Verdict,
    used: dict[str, list[int]],
    *,
    folder: str,
) -> None:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    result = {
        "client": client,
        "commit": commit,
        "date": datetime.now(UTC).date().isoformat(),
        "command": f"compat/run {name}",
        "counts": {outcome.value: verdict.counts[outcome] for outcome in Outcome},
        "expected_failures": verdict.expected_failures,
        "unexpected_failures": verdict.unexpected_failures,
        "skipped": sorted(test for test, how in outcomes.items() if how is Outcome.SKIPPED),
        "versions_used": used,
    }
    path = HERE / "results" / folder / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")


def run(name: str, selection: list[str], *, peer: bool) -> bool:
    suite = load(name)
    cache = CACHE / name
    if is_project(suite) or is_of_sql_server(suite):
        target_of = none
    elif is_secured(suite):
        target_of = secured
    else:
        target_of = apache_kafka if peer else duolog
    with target_of(suite.settings) as target:
        began = time.monotonic()
        outcomes = suite.run(target.bootstrap_servers, cache, selection)
        seconds = time.monotonic() - began
        used = target.versions_used()
    verdict = compare(outcomes, read_expected(HERE / name))
    report(name, verdict, seconds)
    if not peer and not selection:
        keep(name, suite.client, outcomes, verdict, used, folder=folder_of_results(suite))
    return verdict.good


def main() -> int:
    arguments = sys.argv[1:]
    peer = "--peer" in arguments
    names = [argument for argument in arguments if argument != "--peer"]
    selection: list[str] = []
    if "--" in names:
        cut = names.index("--")
        names, selection = names[:cut], names[cut + 1 :]
    unknown = [name for name in names if name not in NAMES]
    if unknown or not names:
        for name in unknown:
            print(f'error: there is no suite "{name}"')
        print("suites:", *NAMES)
        return 2 if unknown else 0
    verdicts = [run(name, selection, peer=peer) for name in names]
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
