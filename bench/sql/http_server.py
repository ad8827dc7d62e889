"""Speed of `duolog start` over HTTP: start, statements, pull queries, push queries of many clients.

    start        command ─▶ answer to SHOW STREAMS, of three ready servers, with an empty directory
    statements   SHOW STREAMS, and CREATE STREAM, one after the other on one connection
    pull         SELECT … WHERE id = … over a table, on 1 and on 16 connections
    push         records written at once ─▶ the last row of the last client, for 1, 100, 500 clients

The clients are a few lines of HTTP/1.1 in this process, and share the machine with the servers. No
other server of ksqlDB's interface runs here to compare with.
"""

import argparse
import asyncio
import itertools
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from bench.common.results_file import write_result
from bench.soak.pull_load import read_response
from confluent_kafka import Producer

from duolog.runtime.start_process import StartProcess

_TABLE: Final = """CREATE TABLE totals (id STRING PRIMARY KEY, name STRING, rides BIGINT)
  WITH (kafka_topic = 'totals', value_format = 'JSON', partitions = 4);
CREATE STREAM rides (id STRING KEY, name STRING, minutes INT)
  WITH (kafka_topic = 'rides', value_format = 'JSON', partitions = 4);"""
_PUSH: Final = "SELECT id, name, minutes FROM rides EMIT CHANGES;"
_ROW: Final = b'["r'
_STALLED_S: Final = 60.0


class Client:
    """One keep-alive connection."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._host, self._port = address.hostname or "", address.port or 80
        self.reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    async def __aenter__(self) -> "Client":
        self.reader, self._writer = await asyncio.open_connection(self._host, self._port)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._writer.close()

    def send(self, path: str, body: dict[str, object]) -> None:
        """Send a request."""
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        self._writer.write(head.encode() + data)

    async def ask(self, path: str, body: dict[str, object]) -> bytes:
        """Return the body of an answer.

        Raises:
            SystemExit: the server refuses.
        """
        self.send(path, body)
        status, answer = await read_response(self.reader)
        if status != 200:
            raise SystemExit(f"{path}: {status} {answer[:500]!r}")
        return answer


def start_once(directory: Path) -> float:
    """Return the seconds from the command to the first answer."""

    async def first(url: str) -> None:
        async with Client(url) as client:
            await client.ask("/ksql", {"ksql": "SHOW STREAMS;"})

    process = StartProcess(directory)
    began = time.perf_counter()
    with process:
        asyncio.run(first(process.url))
        return time.perf_counter() - began


async def rate(client: Client, bodies: list[tuple[str, dict[str, object]]]) -> dict[str, float]:
    """Return the rate and the times of requests that are sent one after the other."""
    times = []
    for path, body in bodies:
        began = time.perf_counter()
        await client.ask(path, body)
        times.append((time.perf_counter() - began) * 1000)
    return summary(times, sum(times) / 1000)


def summary(times_ms: list[float], took_s: float) -> dict[str, float]:
    cuts = statistics.quantiles(times_ms, n=100)
    return {
        "count": len(times_ms),
        "per_s": round(len(times_ms) / took_s),
        "p50_ms": round(cuts[49], 2),
        "p99_ms": round(cuts[98], 2),
    }


async def statements(url: str, count: int) -> dict[str, Any]:
    shows: list[tuple[str, dict[str, object]]] = [("/ksql", {"ksql": "SHOW STREAMS;"})] * count
    creates: list[tuple[str, dict[str, object]]] = [
        (
            "/ksql",
            {
                "ksql": f"CREATE STREAM s{number} (id STRING KEY, n INT) WITH "
                f"(kafka_topic = 's{number}', value_format = 'JSON', partitions = 1);"
            },
        )
        for number in range(count // 5)
    ]
    async with Client(url) as client:
        return {
            "show_streams": await rate(client, shows),
            "create_stream": await rate(client, creates),
        }


async def pulls(url: str, rows: int, connections: int, seconds: float) -> dict[str, Any]:
    """Return the rate of look-ups of random rows."""
    chosen = random.Random(7)  # noqa: S311 - which rows are asked for
    times: list[float] = []
    end = time.perf_counter() + seconds

    async def one() -> None:
        async with Client(url) as client:
            while (began := time.perf_counter()) < end:
                key = f"r{chosen.randrange(rows)}"
                sql = f"SELECT name, rides FROM totals WHERE id = '{key}';"  # noqa: S608
                answer = await client.ask("/query-stream", {"sql": sql})
                assert answer.count(b"\n") >= 2, answer
                times.append((time.perf_counter() - began) * 1000)

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(connections)))
    return {"connections": connections, **summary(times, time.perf_counter() - began)}


async def pushes(
    url: str, clients: int, records: int, write: Callable[[int], None]
) -> dict[str, Any]:
    """Return the time from the write of records to the last row of the last client."""
    opened = [await Client(url).__aenter__() for _ in range(clients)]
    began = time.perf_counter()
    for client in opened:
        # One after the other: the server refuses statements if too many wait.
        client.send("/query-stream", {"sql": _PUSH, "properties": {"auto.offset.reset": "latest"}})
        try:
            await client.reader.readuntil(b"columnTypes")
        except asyncio.IncompleteReadError as error:
            raise SystemExit(f"a push query was refused: {error.partial!r}") from error
    subscribed_s = time.perf_counter() - began

    async def rows_of(client: Client) -> None:
        left, rest = records, b""
        while left > 0:
            data = await asyncio.wait_for(client.reader.read(1 << 18), _STALLED_S)
            left -= (rest + data).count(_ROW)
            # The start of a row may be cut.
            rest = data[1 - len(_ROW) :]
            if not data:
                raise SystemExit(f"a push query has ended; {left} rows are missing")

    began = time.perf_counter()
    tasks = [asyncio.create_task(rows_of(client)) for client in opened]
    await asyncio.to_thread(write, records)
    await asyncio.gather(*tasks)
    took_s = time.perf_counter() - began
    for client in opened:
        await client.__aexit__()
    return {
        "clients": clients,
        "records": records,
        "subscribe_ms_each": round(subscribed_s / clients * 1000, 2),
        "records_per_s": round(records / took_s),
        "rows_per_s": round(records * clients / took_s),
    }


def writer(servers: str, topic: str) -> Callable[[int], None]:
    """Return a function that writes a number of records, and waits until they are on disk."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20})

    def write(count: int) -> None:
        for number in range(count):
            value = f'{{"NAME":"rider {number}","RIDES":{number % 97},"MINUTES":{number % 60}}}'
            while True:
                try:
                    producer.produce(topic, value, f"r{number}")
                    break
                except BufferError:
                    producer.poll(0.1)
        if producer.flush(120):
            raise SystemExit("not all records were acknowledged in 120 s")

    return write


async def measure(url: str, servers: str, options: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {"statements": await statements(url, options.statements)}
    async with Client(url) as client:
        await client.ask("/ksql", {"ksql": _TABLE})
        await asyncio.to_thread(writer(servers, "totals"), options.rows)
        # Reads the topic.
        await client.ask("/query-stream", {"sql": "SELECT name FROM totals WHERE id = 'r1';"})
    found["pull"] = [await pulls(url, options.rows, each, options.seconds) for each in (1, 16)]
    write = writer(servers, "rides")
    found["push"] = [
        await pushes(url, clients, records, write)
        for clients, records in ((1, options.records), (100, options.records // 10), (500, 1_000))
    ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--statements", type=int, default=500)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--records", type=int, default=50_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="duolog-http-") as directory:
        numbers = itertools.count()
        took = [
            start_once(Path(directory) / f"start-{next(numbers)}") for _ in range(options.rounds)
        ]
        with StartProcess(Path(directory) / "data") as process:
            found = asyncio.run(measure(process.url, process.bootstrap_servers, options))
    start = {"median_s": round(statistics.median(took), 2), "max_s": round(max(took), 2)}
    write_result("http_server", {"start": start, "rows": options.rows, **found})


if __name__ == "__main__":
    main()
