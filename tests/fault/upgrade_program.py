"""The process that a test kills in the middle of an upgrade: it runs one of two topologies of one name.

    upgrade_program.py BOOTSTRAP_SERVERS DATA_DIR old|new|last [SETTING=VALUE]...

`old` runs the first one until it is asked to go, `new` upgrades to the second one; `last` does so
too, reads all that is there, and ends.
"""

import sys
from pathlib import Path

from duolog import Topology, count, sum_
from duolog.runtime.application import Application

NAME = "upgraded"
CAUGHT_UP_S = 150


def topology(which: str) -> Topology:
    """Both count by item; what the other aggregate adds up is another column in the second one."""
    made = Topology(NAME)
    orders = made.stream("orders", key="customer STRING", value="item STRING, n BIGINT, m BIGINT")
    of = "n" if which == "old" else "m"
    orders.group_by_key().materialized("totals").aggregate(n=count(), total=sum_(of)).to("totals")
    orders.group_by("item").count("n").to("by_item")
    return made


def main() -> None:
    bootstrap_servers, data_dir, which, *settings = sys.argv[1:]
    application = Application(
        topology(which),
        bootstrap_servers=bootstrap_servers,
        data_dir=Path(data_dir),
        mode="micro-batch",
        settings=dict(setting.split("=", 1) for setting in settings),
        upgrade=None if which == "old" else "rebuild",
    )
    with application:
        query = application.start()
        if which == "last":
            assert query.wait_until_caught_up(CAUGHT_UP_S)
        else:
            query.wait()


if __name__ == "__main__":
    main()
