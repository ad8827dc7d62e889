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

from duolog.broker.broker import Broker
from duolog.broker.process import BrokerOptions, Edges, run
from duolog.broker.requests.preloading import LIST_OFFSETS, headers
from duolog.core.errors import DuologError
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
    """Load the schemas of ListOffsets requests before the broker is ready, see `preloading`.

    A test may produce a record as soon as its first consumer has asked for the latest offset.
    """
    for header in headers(LIST_OFFSETS):
        messages.load(header)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="duolog.testing.local_broker.program")
    parser.add_argument("--data", required=True)
    parser.add_argument("--listen", required=True)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--scratch", help="directory to delete if the parent process is killed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
