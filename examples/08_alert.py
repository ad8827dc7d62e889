"""An alert: react to changes of a state, not to each event.

A truck's temperature is a table. An event above the limit is not interesting by itself; the moment
when the truck becomes too warm is. Therefore the row of a truck stores its current and its previous
state, and an alert is a change of the table in which the two differ.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from duolog import Application, Topology, acc, col, lit, when
from duolog.testing import Client, EmbeddedCluster

TOO_WARM, COOL_AGAIN = 8, 6
READINGS = [
    ("HH-1", 5),
    ("HH-1", 9),
    ("B-7", 4),
    ("HH-1", 10),
    ("HH-1", 7),  # below the limit, but not cool yet
    ("HH-1", 9),
    ("B-7", 12),
    ("HH-1", 5),  # cool
    ("HH-1", 8),
    ("HH-1", 11),  # warm again
]


def topology() -> Topology:
    topology = Topology("alerts")
    readings = topology.stream("readings", key="truck STRING", value="celsius BIGINT")
    celsius = col("celsius")
    # Between the limits the state is unchanged: a truck that fluctuates around one limit is one
    # alert.
    state = when(celsius > TOO_WARM, "warm").when(celsius < COOL_AGAIN, "cool")
    trucks = readings.group_by_key().aggregate(
        initializer={"celsius": lit(0), "state": lit("cool"), "before": lit("cool")},
        adder={
            "celsius": celsius,
            "state": state.otherwise(acc("state")),
            "before": acc("state"),
        },
    )
    trucks.to("trucks")
    became_warm = (col("state") == "warm") & (col("before") == "cool")
    trucks.to_stream().filter(became_warm).map_values("celsius").to("alerts")
    readings.filter(celsius > TOO_WARM).to("every-event")
    return topology


def main() -> None:
    with TemporaryDirectory() as directory, EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("readings")
        for truck, celsius in READINGS:
            client.produce("readings", truck, json.dumps({"celsius": celsius}))
        application = Application(
            topology(),
            bootstrap_servers=cluster.bootstrap_servers,
            data_dir=Path(directory),
            mode="micro-batch",
            # The example needs every change of the table; a record cache would emit only the last
            # one.
            settings={"statestore.cache.max.bytes": "0"},
        )
        with application:
            assert application.start().wait_until_caught_up(240)
        changes, alerts, events = (
            [(record.key_text, json.loads(record.value or b"")) for record in client.read(topic)]
            for topic in ("trucks", "alerts", "every-event")
        )

    print(f"The limit is {TOO_WARM} degrees; below {COOL_AGAIN} a truck is cool again.\n")
    print("reading     the truck's row           alert")
    raised = []
    for (truck, celsius), (of, row) in zip(READINGS, changes, strict=True):
        assert (truck, celsius) == (of, row["celsius"])
        alert = ""
        if (row["state"], row["before"]) == ("warm", "cool"):
            raised.append((truck, celsius))
            alert = f"{truck} is too warm"
        state = f"{row['state']}, before {row['before']}"
        print(f"{truck:5} {celsius:3}   {state:26}{alert}".rstrip())
    assert [(truck, row["celsius"]) for truck, row in alerts] == raised
    assert raised == [("HH-1", 9), ("B-7", 12), ("HH-1", 11)]
    print(f"\n{len(events)} events were above the limit, {len(alerts)} alerts were written.")
    assert len(events) == 5
    print(
        "\nNote: a consumer of the events would be notified repeatedly, a consumer of the table's"
    )
    print("changes only when the state changes. The row itself stores the previous state. After a")
    print("crash the last results are written again, so that an alert may appear twice.")


if __name__ == "__main__":
    main()
