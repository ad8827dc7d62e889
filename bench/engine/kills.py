"""Kill processes during exactly-once writes, for the counts in docs/reliability.md.

    scripts/bench kills --kills 20 --seed 7 --broker embedded
    scripts/bench kills --kills 20 --cluster         on a Spark cluster of two local workers

A run adds its campaign to bench/results/kills.json.
tests/fault/campaign.py defines a campaign. It replaces an earlier one with the same seed, broker
and place.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench.common.results_file import RESULTS_DIR, commit_id, machine

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from conformance.kafka.peer import KafkaPeer
from duolog.testing import EmbeddedCluster, SparkCluster
from fault.campaign import Broker, Campaign, strike_until
from fault.ledger import LEAST, ONCE

RESULTS: Final = RESULTS_DIR / "kills.json"
# As in tests: in a JVM that lives for seconds, C2 costs more than it saves.
ONE_JVM: Final = "one JVM"
ON_CLUSTER: Final = ("each", "live")
"""One in micro-batches and one in real time; three would need more slots than there are."""
WORKERS: Final = 2
JVM_OPTIONS: Final = {"SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1"}


@contextmanager
def broker_of(kind: str, directory: Path) -> Iterator[Broker]:
    if kind == "embedded":
        with EmbeddedCluster(directory / "broker") as cluster:
            yield cluster
    else:
        with KafkaPeer(directory / "kafka") as peer:
            yield peer


def campaign(
    kills: int, seed: int, broker: str, guarantee: str, *, cluster: bool = False
) -> dict[str, Any]:
    """Run a campaign and return its result."""
    began = time.monotonic()
    names = ONCE if guarantee == "exactly_once_v2" else LEAST
    if cluster and names == ONCE:
        names = ON_CLUSTER
    with (
        tempfile.TemporaryDirectory(prefix="duolog-kills-") as directory,
        broker_of(broker, Path(directory)) as running,
        SparkCluster(Path(directory) / "spark", workers=WORKERS, memory="2g")
        if cluster
        else nullcontext() as machines,
    ):
        made = Campaign(running, Path(directory), seed, names=names, cluster=machines)
        tally = strike_until(kills, made)
    return {
        "broker": broker,
        "place": f"cluster of {WORKERS} workers" if cluster else ONE_JVM,
        "guarantee": guarantee,
        "applications": list(names),
        "ran_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - began),
        "commit": commit_id(),
        "machine": machine(),
        **tally.kept(),
    }


def keep(found: dict[str, Any]) -> None:
    campaigns = json.loads(RESULTS.read_text())["campaigns"] if RESULTS.exists() else []
    campaigns = [{"place": ONE_JVM} | one for one in campaigns]
    same = ("broker", "place", "guarantee", "seed")
    others = [one for one in campaigns if any(one[name] != found[name] for name in same)]
    ordered = sorted([*others, found], key=lambda one: [one[name] for name in same])
    RESULTS.write_text(json.dumps({"campaigns": ordered}, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="minimum number of kills")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broker", choices=("embedded", "kafka"), default="embedded")
    parser.add_argument(
        "--guarantee", choices=("exactly_once_v2", "at_least_once"), default="exactly_once_v2"
    )
    parser.add_argument("--cluster", action="store_true", help="tasks on a Spark cluster")
    given = parser.parse_args()
    os.environ.update(JVM_OPTIONS)
    found = campaign(given.kills, given.seed, given.broker, given.guarantee, cluster=given.cluster)
    keep(found)
    print(json.dumps(found, indent=1))
    return 1 if found["anomalies"] and given.guarantee == "exactly_once_v2" else 0


if __name__ == "__main__":
    sys.exit(main())
