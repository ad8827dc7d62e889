"""The workloads of bench/engine/peers_python.py in Quix Streams.

Usage: quix_streams.py WORK SERVERS SOURCE RESULT ROWS STATE_DIR
"""

import sys

import quixstreams.dataframe.windows.aggregations as agg
from quixstreams import Application


def stateless(events, _rows):
    kept = events.filter(lambda event: event["n"] >= 20)
    return kept.apply(
        lambda event: {
            "user": event["user"],
            "doubled": event["n"] * 2,
            "sent_at": event["sent_at"],
        }
    )


def count(events, _rows):
    def add(event, state):
        row = state.get("row", {"records": 0, "total": 0})
        row["records"] += 1
        row["total"] += event["n"]
        row["sent_at"] = event["sent_at"]
        state.set("row", row)
        return {"user": event["user"], **row}

    return events.apply(add, stateful=True)


def tumbling(events, _rows):
    windows = events.tumbling_window(duration_ms=60_000, grace_ms=1_000)
    return windows.agg(
        records=agg.Count(), total=agg.Sum("n"), sent_at=agg.Max("sent_at")
    ).current()


def join(events, rows):
    return events.join_asof(rows, how="left", on_merge="keep-left", grace_ms=10**12)


def main() -> None:
    work, servers, source, result, rows, state_dir = sys.argv[1:]
    app = Application(
        broker_address=servers,
        consumer_group=result,
        auto_offset_reset="earliest",
        state_dir=state_dir,
        loglevel="WARNING",
    )
    events = app.dataframe(app.topic(source, key_deserializer="str"))
    table = app.dataframe(app.topic(rows, key_deserializer="str")) if work == "join" else None
    made = globals()[work](events, table)
    made.to_topic(app.topic(result, key_serializer="str"))
    app.run()


if __name__ == "__main__":
    main()
