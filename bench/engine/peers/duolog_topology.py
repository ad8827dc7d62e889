"""The workloads of bench/engine/peers_python.py in Duolog.

Usage: duolog_topology.py WORK SERVERS SOURCE RESULT ROWS STATE_DIR [--mode MODE] [--set NAME=VALUE]
"""

import argparse

from duolog import Topology, col, last, sum_, tumbling
from duolog import count as count_
from duolog.runtime.application import Application


def stateless(events, _rows):
    kept = events.filter(col("n") >= 20)
    return kept.map_values(user=col("key"), doubled=col("n") * 2, sent_at=col("sent_at"))


def count(events, _rows):
    grouped = events.group_by_key()
    return grouped.aggregate(records=count_(), total=sum_("n"), sent_at=last("sent_at"))


def tumbling_(events, _rows):
    windows = events.group_by_key().windowed_by(tumbling("1 minute", grace="1 s"))
    return windows.aggregate(records=count_(), total=sum_("n"), sent_at=last("sent_at"))


def join(events, rows):
    return events.left_join(rows)


WORK = {"stateless": stateless, "count": count, "tumbling": tumbling_, "join": join}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("work", "servers", "source", "result", "rows", "state_dir"):
        parser.add_argument(name)
    parser.add_argument("--mode", default="micro-batch")
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    topology = Topology(options.result)
    events = topology.stream(options.source, key=str, value="n BIGINT, at BIGINT, sent_at DOUBLE")
    rows = (
        topology.table(options.rows, key=str, value="m BIGINT") if options.work == "join" else None
    )
    WORK[options.work](events, rows).to(options.result)
    with Application(
        topology,
        bootstrap_servers=options.servers,
        data_dir=options.state_dir,
        mode=options.mode,
        settings=dict(setting.split("=", 1) for setting in options.set),
    ) as application:
        application.start().wait()


if __name__ == "__main__":
    main()
