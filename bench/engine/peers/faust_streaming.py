"""The workloads of peers_python.py in faust-streaming, with tables in memory, one worker.

Usage: faust_streaming.py WORK SERVERS SOURCE RESULT ROWS STATE_DIR
"""

import sys

import faust

work, servers, source, result, rows, state_dir = sys.argv[1:]
app = faust.App(
    result,
    broker=f"kafka://{servers}",
    store="memory://",
    datadir=state_dir,
    topic_partitions=2,
    consumer_auto_offset_reset="earliest",
    web_enabled=False,
)
events = app.topic(
    source, key_type=str, key_serializer="raw", value_serializer="json", partitions=2
)
results = app.topic(
    result, key_type=str, key_serializer="raw", value_serializer="json", partitions=2
)


async def stateless(stream):
    async for event in stream:
        if event["n"] >= 20:
            made = {"user": event["user"], "doubled": event["n"] * 2, "sent_at": event["sent_at"]}
            await results.send(key=event["user"], value=made)


async def count(stream):
    async for event in stream:
        row = table[event["user"]]
        row["records"] += 1
        row["total"] += event["n"]
        table[event["user"]] = row
        made = {"user": event["user"], **row, "sent_at": event["sent_at"]}
        await results.send(key=event["user"], value=made)


async def tumbling(stream):
    async for event in stream:
        row = windows[event["user"]].value()
        row = {"records": row["records"] + 1, "total": row["total"] + event["n"]}
        windows[event["user"]] = row
        start = event["at"] - event["at"] % 60_000
        made = {"user": event["user"], "start": start, **row, "sent_at": event["sent_at"]}
        await results.send(key=event["user"], value=made)


async def join(stream):
    async for event in stream:
        row = looked_up.get(event["user"])
        made = {**event, "m": row["m"] if row is not None else None}
        await results.send(key=event["user"], value=made)


async def fill(stream):
    async for row in stream:
        looked_up[row["user"]] = row


def none():
    return {"records": 0, "total": 0}


if work == "count":
    table = app.Table("counts", default=none, partitions=2)
if work == "tumbling":
    windows = app.Table("windows", default=none, partitions=2).tumbling(60.0, expires=120.0)
    windows = windows.relative_to_stream()
if work == "join":
    looked_up = app.Table("rows", partitions=2)
    table_rows = app.topic(
        rows, key_type=str, key_serializer="raw", value_serializer="json", partitions=2
    )
    app.agent(table_rows)(fill)
app.agent(events)(
    {"stateless": stateless, "count": count, "tumbling": tumbling, "join": join}[work]
)

if __name__ == "__main__":
    sys.argv[1:] = ["worker", "-l", "warn", "--without-web"]
    app.main()
