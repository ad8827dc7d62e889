"""Run an application whose checkpoint is at a URL: counts, windows and a join, with all results stored.

    hdfs_program.py BOOTSTRAP_SERVERS URL MODE [SETTING=VALUE]...

Prints a line of JSON for each change of state and mode, and one where it fails. It stops cleanly
when its standard input ends.
"""

import json
import select
import sys
from typing import cast

from duolog import Topology, tumbling
from duolog.core.errors import DuologError
from duolog.runtime.application import Application, Mode

LOOK_EVERY_S = 0.05
NAME = "orders-by-all"


def topology() -> Topology:
    made = Topology(NAME)
    names = made.table("names", key="customer STRING", value="name STRING")
    orders = made.stream("orders", key="customer STRING", value="number BIGINT")
    orders.group_by_key().count("n").to("counted")
    orders.group_by_key().windowed_by(tumbling("1 second")).count("n").to("windowed")
    orders.join(names, on="customer").to("joined")
    return made


def report(**what: object) -> None:
    print(json.dumps(what), flush=True)  # noqa: T201 - the answer of this program


def main() -> None:
    bootstrap_servers, url, mode, *settings = sys.argv[1:]
    application = Application(
        topology(),
        bootstrap_servers=bootstrap_servers,
        data_dir=url,
        mode=cast("Mode", mode),
        settings=dict(setting.split("=", 1) for setting in settings),
    )
    try:
        with application:
            query = application.start()
            said = None
            while not select.select([sys.stdin], [], [], LOOK_EVERY_S)[0]:
                now = {"state": query.state, "mode": query.mode}
                if now != said:
                    report(**now)
                    said = now
                if query.wait(0):
                    break
    except DuologError as error:
        report(failed=error.message, detail=error.detail, hint=error.hint)
        raise SystemExit(3) from error


if __name__ == "__main__":
    main()
