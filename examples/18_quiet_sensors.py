"""A processor with punctuators: silent sensors by stream time, their number by wall clock.

The processor stores the time of each sensor's last reading. Every ten seconds of stream time it
reports the sensors without a reading for a minute. By wall-clock time it reports the number of
known sensors, even if no records arrive. After a restart it continues with its store.
"""

import datetime as dt
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from duolog import Application, Processor, Record, Topology, key_value_store
from duolog.testing import Client, EmbeddedCluster

QUIET_MS = 60_000
BEGIN_MS = int(time.time()) // 10 * 10_000 - 200_000


class Watching(Processor):
    """Stores the time of the last reading of each sensor."""

    def init(self, context: Any) -> None:
        self.context = context
        self.last = context.store("last-heard")
        context.schedule(dt.timedelta(seconds=10), "stream time", self.report_quiet)
        context.schedule(dt.timedelta(milliseconds=200), "wall clock", self.report_known)

    def process(self, record: Record) -> None:
        self.last.put(record.key, record.timestamp_ms)

    def report_quiet(self, now: int) -> None:
        for sensor, last in self.last.all():
            if now - last >= QUIET_MS:
                value = {"quiet_s": (now - last) // 1000}
                self.context.forward(Record(sensor, value, now), "quiet")
                self.last.delete(sensor)

    def report_known(self, now: int) -> None:
        known = self.last.approximate_num_entries()
        self.context.forward(Record(self.context.task_id, {"sensors": known}, now), "known")


def topology() -> Topology:
    topology = Topology("quiet-sensors")
    readings = topology.stream("readings", key="sensor STRING", value="celsius DOUBLE")
    last = key_value_store("last-heard", key="sensor STRING", value="at BIGINT")
    children = readings.process_to(
        Watching,
        stores=[last],
        children={"quiet": "quiet_s BIGINT", "known": "sensors BIGINT"},
        name="watching",
    )
    children["quiet"].to("quiet")
    children["known"].to("known")
    return topology


def read_at(client: Client, sensor: str, second: int) -> None:
    client.produce(
        "readings", sensor, json.dumps({"celsius": 20.5}), timestamp_ms=BEGIN_MS + second * 1000
    )


def values(client: Client, topic: str) -> list[tuple[str, dict[str, int]]]:
    records = client.read(topic)
    return [((record.key or b"").decode(), json.loads(record.value or b"{}")) for record in records]


def run(client: Client, cluster: EmbeddedCluster, directory: Path, seconds: range) -> None:
    """Run the application for some readings of the roof, until the report includes them."""
    application = Application(
        topology(),
        bootstrap_servers=cluster.bootstrap_servers,
        data_dir=directory,
        mode="micro-batch",
    )
    with application:
        query = application.start()
        for second in seconds:
            read_at(client, "roof", second)
        assert query.wait_until_caught_up(240)
        told, deadline = len(values(client, "known")), time.monotonic() + 60
        while len(values(client, "known")) == told:
            assert time.monotonic() < deadline, "the wall-clock punctuator does not run"
            time.sleep(0.05)


def main() -> None:
    with TemporaryDirectory() as directory, EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("readings")
        read_at(client, "cellar", 0)
        run(client, cluster, Path(directory), range(0, 50, 10))
        print(f"after 40 s of readings       quiet: {values(client, 'quiet')}")
        print(
            f"by wall clock                known: "
            f"{max(row['sensors'] for _, row in values(client, 'known'))}"
        )
        run(client, cluster, Path(directory), range(50, 100, 10))
        quiet = values(client, "quiet")
        print(f"after a restart, and 50 more quiet: {quiet}")
    assert quiet == [("cellar", {"quiet_s": 60})], quiet
    print(
        "Note: the cellar was reported when the roof's readings were a minute past "
        "its last one, although"
    )
    print(
        "that one was stored by an earlier run. The wall-clock report arrived without new records."
    )


if __name__ == "__main__":
    main()
