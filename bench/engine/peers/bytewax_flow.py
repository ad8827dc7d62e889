"""The workloads of bench/engine/peers_python.py in Bytewax, one worker.

Usage: bytewax_flow.py WORK SERVERS SOURCE RESULT ROWS STATE_DIR. Windows give a result when they
close.
"""

import json
import sys
from datetime import UTC, datetime, timedelta

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.connectors.kafka import KafkaSinkMessage, KafkaSource
from bytewax.connectors.kafka import operators as kop
from bytewax.dataflow import Dataflow
from bytewax.testing import cluster_main


def stateless(events, _rows):
    kept = op.filter("kept", events, lambda item: item[1]["n"] >= 20)

    def double(event):
        return {"user": event["user"], "doubled": event["n"] * 2, "sent_at": event["sent_at"]}

    return op.map_value("doubled", kept, double)


def added(row, event):
    row = row or {"records": 0, "total": 0}
    row["records"] += 1
    row["total"] += event["n"]
    row["sent_at"] = event["sent_at"]
    return row


def count(events, _rows):
    def add(row, event):
        row = added(row, event)
        return row, {"user": event["user"], **row}

    return op.stateful_map("count", events, add)


def tumbling(events, _rows):
    def time_of(event):
        return datetime.fromtimestamp(event["at"] / 1000, UTC)

    begin = datetime(2023, 1, 1, tzinfo=UTC)
    made = win.fold_window(
        "windows",
        events,
        win.EventClock(time_of, wait_for_system_duration=timedelta(seconds=1)),
        win.TumblingWindower(length=timedelta(minutes=1), align_to=begin),
        dict,
        added,
        lambda one, other: {**other, "records": one["records"] + other["records"]},
    )
    return op.map_value("start", made.down, lambda item: {"start": item[0], **item[1]})


def join(events, rows):
    either = op.merge(
        "either",
        op.map_value("left", events, lambda event: (event, None)),
        op.map_value("right", rows, lambda row: (None, row)),
    )

    def look_up(row, item):
        event, new_row = item
        if new_row is not None:
            return new_row, None
        return row, {**event, "m": row["m"] if row is not None else None}

    joined = op.stateful_map("look up", either, look_up)
    return op.filter_map_value("matched", joined, lambda made: made)


def read(flow, servers, topic):
    source = KafkaSource([servers], [topic], batch_size=1_000)
    return op.map(
        f"{topic} read",
        op.input(topic, flow, source),
        lambda message: (message.key.decode(), json.loads(message.value)),
    )


def main() -> None:
    work, servers, source, result, rows, _state_dir = sys.argv[1:]
    flow = Dataflow("bench")
    table = read(flow, servers, rows) if work == "join" else None
    made = globals()[work](read(flow, servers, source), table)
    messages = op.map(
        "written",
        made,
        lambda item: KafkaSinkMessage(item[0].encode(), json.dumps(item[1]).encode()),
    )
    kop.output("result", messages, brokers=[servers], topic=result)
    cluster_main(flow, [], 0)


if __name__ == "__main__":
    main()
