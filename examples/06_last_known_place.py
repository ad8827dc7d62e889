"""Last known place: one stream, three tables.

The tables contain each user's last reported place, the last place by time, and the places per hour.
They differ if records arrive late, for example from phones without a network:

    time of the record      09:05  09:40  10:05  09:55
    order in the topic          1      2      3      4     the last one is late
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from duolog import Application, Topology, collect_list, count, last, tumbling
from duolog.testing import Client, EmbeddedCluster

VISITS = [
    ("ann", "09:05", "station"),
    ("bob", "09:10", "park"),
    ("ann", "09:40", "cafe"),
    ("ann", "10:05", "office"),
    ("ann", "09:55", "bakery"),  # late, within the grace period of the hour from 9 to 10
    ("bob", "10:20", "museum"),
    ("bob", "11:45", "home"),
    ("bob", "10:55", "bridge"),  # too late: at 11:45, the hour from 10 to 11 is closed
]
DAY_MS = 1_700_006_400_000
MINUTE_MS = 60_000


def topology() -> Topology:
    topology = Topology("places")
    visits = topology.stream("visits", key="user STRING", value="place STRING")
    by_user = visits.group_by_key()
    visits.to_table().to("last-seen")
    by_user.aggregate(place=last("place", by="time")).to("last-known")
    hours = by_user.windowed_by(tumbling("1 hour", grace="30 minutes"))
    hours.aggregate(visits=count(), places=collect_list("place")).to("places-by-hour")
    return topology


def at_ms(clock: str) -> int:
    hours, minutes = clock.split(":")
    return DAY_MS + (int(hours) * 60 + int(minutes)) * MINUTE_MS


def clock(time_ms: int) -> str:
    hours, minutes = divmod((time_ms - DAY_MS) // MINUTE_MS, 60)
    return f"{hours:02}:{minutes:02}"


def main() -> None:
    with TemporaryDirectory() as directory, EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("visits")
        print("Visits in order of arrival:")
        for user, time, place in VISITS:
            client.produce("visits", user, json.dumps({"place": place}), timestamp_ms=at_ms(time))
            print(f"  {time}  {user} in {place}")
        application = Application(
            topology(),
            bootstrap_servers=cluster.bootstrap_servers,
            data_dir=Path(directory),
            mode="micro-batch",
        )
        with application:
            query = application.start()
            assert query.wait_until_caught_up(240)
            seen, known, hours = (
                application.table(topic).to_dicts()
                for topic in ("last-seen", "last-known", "places-by-hour")
            )
            late = query.progress().late

    print("\nThe stream as a table, to_table(): the last record of each user that arrived.")
    for row in seen:
        print(f"  {row['user']}: {row['place']}")
    print("By record time, last(..., by='time'): late records change nothing.")
    for row in known:
        print(f"  {row['user']}: {row['place']}")
    print("Places by user and hour, in windows of one hour with a grace period of 30 minutes:")
    for row in hours:
        window = f"{clock(row['window_start'])} to {clock(row['window_end'])}"
        print(f"  {row['user']}  {window}  {row['visits']} visits: {', '.join(row['places'])}")
    print(f"Too late for any window: {sum(late.values())} record.")

    assert {row["user"]: row["place"] for row in seen} == {"ann": "bakery", "bob": "bridge"}
    assert {row["user"]: row["place"] for row in known} == {"ann": "office", "bob": "home"}
    assert {(row["user"], clock(row["window_start"])): row["places"] for row in hours} == {
        ("ann", "09:00"): ["station", "cafe", "bakery"],
        ("ann", "10:00"): ["office"],
        ("bob", "09:00"): ["park"],
        ("bob", "10:00"): ["museum"],
        ("bob", "11:00"): ["home"],
    }
    assert sum(late.values()) == 1
    print("\nNote: time is the timestamp of the records, not wall-clock time and not the order of")
    print("arrival. A window accepts late records during its grace period. Then it is closed, and")
    print("later records are dropped and counted.")


if __name__ == "__main__":
    main()
