"""Lookups: get the city of each visit's address from a service that takes 50 ms per response.

40 visits wait concurrently, and results keep the order of the visits. The service fails for one
address: the call is retried, and after the last failed attempt the visit is skipped and counted.
"""

import asyncio
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from duolog import Application, Topology
from duolog.testing import Client, EmbeddedCluster

VISITS = 80
ANSWERS_IN_S = 0.05
CITIES = ("Rome", "Oslo", "Bern", "Kyiv")


async def city(ip: int) -> str:
    """Simulate a client of a service; a real one would reuse its connections."""
    await asyncio.sleep(ANSWERS_IN_S)
    if ip == 13:
        raise ConnectionError("the service does not know 13")
    return CITIES[ip % len(CITIES)]


def topology() -> Topology:
    topology = Topology("lookups")
    visits = topology.stream("visits", key="user STRING", value="ip BIGINT")
    visits.map_async(city, limit=40, timeout="2 seconds", retries=2).to("cities")
    return topology


def main() -> None:
    with TemporaryDirectory() as directory, EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("visits")
        for ip in range(VISITS):
            client.produce("visits", "ann", json.dumps({"ip": ip}))
        application = Application(
            topology(),
            bootstrap_servers=cluster.bootstrap_servers,
            data_dir=Path(directory),
            mode="micro-batch",
            settings={"processing.exception.handler": "log_and_continue"},
        )
        with application:
            began = time.monotonic()
            query = application.start()
            assert query.wait_until_caught_up(240)
            took = time.monotonic() - began
            found = [json.loads(record.value or b"")["value"] for record in client.read("cities")]
            # Tasks count skipped records; executors of a cluster report the counts within a second.
            while not query.skipped() and time.monotonic() - began < 240:
                time.sleep(0.1)
            (skipped,) = query.skipped()
        print(f"{VISITS} visits, {ANSWERS_IN_S * 1000:.0f} ms per response: {took:.1f} s")
        print(f"    cities   {', '.join(found[:8])}, …")
        print(f"    skipped  {skipped.reason}")
    assert found == [CITIES[ip % len(CITIES)] for ip in range(VISITS) if ip != 13], found
    print(
        "Note: results keep the order of the visits, although forty wait concurrently. The service"
    )
    print("was called three times for the failing address, and only that visit was skipped.")


if __name__ == "__main__":
    main()
