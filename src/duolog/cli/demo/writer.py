"""Write the flights of the demo for a SQL server, whose console shows them.

    python -P -m duolog.cli.demo.writer --data DIRECTORY

The first line of standard input has the brokers as JSON, with their secrets; when standard input
ends, so does this program. Standard output gets a line of JSON twice a second:

    {"produced": 1200, "total": 336776, "live": false}
    {"error": "…"}            last, if the flights could not be written

Most of the year is written at full speed; the rest arrives live, at `LIVE_RATE` flights per
second. Another run resumes where the last one stopped.
"""

import argparse
import json
import os
import sys
import threading
from pathlib import Path
from typing import Final

from duolog.cli.demo.dataset import FLIGHTS_PER_YEAR, Dataset
from duolog.cli.demo.load import LIVE_RATE, FlightLoad
from duolog.cli.demo.topics import FLIGHTS_PARTITIONS, DemoTopics
from duolog.cli.kafka.cluster import Cluster
from duolog.core.errors import DuologError
from duolog.security.clients.brokers import Brokers

LIVE: Final = 240_000
"""Flights that arrive live: 40 minutes, in which a user can look at the tables."""
_REPORT_S: Final = 0.5


def main() -> int:
    """Run until all flights are written, or standard input ends; return the exit status."""
    parser = argparse.ArgumentParser(description="Write the flights of the demo.")
    parser.add_argument("--data", type=Path, required=True, help="directory for unpacked files")
    given = parser.parse_args()
    brokers = Brokers.from_json(json.loads(sys.stdin.readline()))
    try:
        topics = DemoTopics(Cluster.of(brokers))
        topics.create(table_partitions=FLIGHTS_PARTITIONS)
        topics.create_of_queries()
        load = FlightLoad(
            topics,
            Dataset(given.data),
            total=FLIGHTS_PER_YEAR,
            years=1,
            rate=LIVE_RATE,
            live=LIVE,
        )
        _write(load)
    except DuologError as error:
        _print({"error": error.one_line()})
        return 1
    return 0


def _write(load: FlightLoad) -> None:
    ended = threading.Event()
    threading.Thread(target=_wait_for_end, args=(ended,), name="stdin", daemon=True).start()
    load.start()
    while load.is_alive() and not ended.wait(_REPORT_S):
        load.resume()
        _print({"produced": load.produced, "total": load.total, "live": load.is_live})
    load.stop()
    if load.error is not None:
        raise load.error
    if ended.is_set():
        return  # Of an interrupted load, `total` is what it has written.
    _print({"produced": load.produced, "total": load.total, "live": False})


def _wait_for_end(ended: threading.Event) -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    ended.set()


def _print(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
