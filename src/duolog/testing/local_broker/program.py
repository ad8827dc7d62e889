"""The broker process of `LocalBroker`: `python -m duolog.testing.local_broker.program`.

It is the broker of `duolog broker` with the clock, disk and connections of `faults`, and with
`Controls` on standard input. `duolog broker` has none of these.

If its parent is killed, it deletes the data (`--scratch`) that the parent would have deleted.
"""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from duolog.broker.apis.k02_list_offsets import API as LIST_OFFSETS
from duolog.broker.broker import Broker
from duolog.broker.process import BrokerOptions, Edges, run
from duolog.core.errors import DuologError
from duolog.protocol.headers import RequestHeader
from duolog.protocol.messages import Messages
from duolog.testing.local_broker.controls import Controls


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a broker until it is stopped; return the exit status."""
    given = _parser().parse_args(arguments)
    controls = Controls()
    settings = dict(row.partition("=")[::2] for row in given.set)
    options = BrokerOptions(Path(given.data), listen=(given.listen,), settings=settings)

    def prepare(broker: Broker) -> None:
        controls.attach(broker)
        load_list_offsets(broker.messages)

    edges = Edges(controls.clock, controls.open_disk, prepare)
    try:
        status = run(options, edges)
    except DuologError as error:
        print(f"error: {error.render()}", file=sys.stderr)  # noqa: T201
        status = 1
    if controls.orphaned and given.scratch:
        shutil.rmtree(given.scratch, ignore_errors=True)
    return status


def load_list_offsets(messages: Messages) -> None:
    """Load the schemas of ListOffsets requests.

    A broker loads a schema with the first request of its version. A thread does this, and later
    requests are served meanwhile. The first consumer that starts at the latest offset would then
    miss a record that its test produces at once.
    """
    for version in LIST_OFFSETS.versions:
        messages.load(RequestHeader(LIST_OFFSETS.key, version, 0, None, 0))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="duolog.testing.local_broker.program")
    parser.add_argument("--data", required=True)
    parser.add_argument("--listen", required=True)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--scratch", help="directory to delete if the parent process is killed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
