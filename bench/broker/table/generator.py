"""Run `bench/broker/load/Load.java`, which sends prepared requests without a client library.

Duolog's encoder creates the frame of a produce request once. The program sends it repeatedly, and
sets sequence numbers if the producer is idempotent.
"""

import functools
import json
import random
import string
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

from duolog.protocol.frames import write_frame
from duolog.protocol.wire import write_string, write_uvarint
from duolog.record import Compression, Record, encode_batch
from duolog.record.records import BatchProducer

SOURCES: Final = Path(__file__).parents[1] / "load"
PRODUCE: Final = 0
VERSION: Final = 9
JVM: Final = ("-Xms64m", "-Xmx256m", "-XX:MaxDirectMemorySize=3g", "-XX:+UseSerialGC")
_STARTS_WITHIN_S: Final = 60
_CODECS: Final = {"none": Compression.NONE, "lz4": Compression.LZ4}

WARM_UP_S: Final = 1.0
SECONDS: Final = 2.0


class Frame(NamedTuple):
    """A produce request and the positions of its parts."""

    content: bytes
    partition_at: int
    batch_at: int
    batch_bytes: int
    batch_records: int
    error_at: int
    """Position of the partition's error code in the body of the response."""


def produce_frame(
    topic: str,
    *,
    records: int = 1,
    record_bytes: int = 100,
    codec: str = "none",
    acks: int = -1,
    idempotent: bool = False,
) -> Frame:
    """Return a request with one batch of `records` records, for partition 0."""
    letters = random.Random(7).choices(string.ascii_uppercase, k=records * record_bytes)  # noqa: S311
    text = "".join(letters).encode()
    now = round(time.time() * 1000)
    batch = encode_batch(
        [
            Record(index, now, None, text[index * record_bytes : (index + 1) * record_bytes])
            for index in range(records)
        ],
        compression=_CODECS[codec],
        producer=BatchProducer(0, 0, 0) if idempotent else BatchProducer(),
    )
    header = struct.pack(">hhi", PRODUCE, VERSION, 1) + write_string("load", flexible=False) + b"\0"
    before = b"\0" + struct.pack(">hi", acks, 30_000) + b"\2" + write_string(topic, flexible=True)
    before += b"\2"
    index = struct.pack(">i", 0) + write_uvarint(len(batch) + 1)
    content = write_frame(header, before + index + bytes(batch) + b"\0\0\0")
    partition_at = 4 + len(header) + len(before)
    # Topics, name with its length, partitions, index.
    error_at = 1 + 1 + len(topic) + 1 + 4
    batch_at = partition_at + len(index)
    return Frame(bytes(content), partition_at, batch_at, len(batch), records, error_at)


@functools.cache
def classes() -> str:
    """Compile the program once per run; return the folder of its classes."""
    folder = tempfile.mkdtemp(prefix="duolog-load-")
    sources = [str(path) for path in sorted(SOURCES.glob("*.java"))]
    subprocess.run(["javac", "-proc:none", "-d", folder, *sources], check=True)
    return folder


def run_load(mode: str, address: str, topic: str, frame: Frame, **options: object) -> Any:
    """Run the program with its `options` (`_` stands for `-`); return its output.

    Raises:
        SystemExit: the program failed, or the broker returned an error.
    """
    with tempfile.NamedTemporaryFile(prefix="duolog-frame-") as file:
        file.write(frame.content)
        file.flush()
        given = {
            "address": address,
            "topic": topic,
            "frame": file.name,
            "partition-at": frame.partition_at,
            "batch-at": frame.batch_at,
            "batch-bytes": frame.batch_bytes,
            "batch-records": frame.batch_records,
            "warm-up": WARM_UP_S,
            "seconds": SECONDS,
            **{name.replace("_", "-"): value for name, value in options.items()},
        }
        command = ["java", *JVM, "-cp", classes(), "Load", mode]
        command += [f"{name}={value}" for name, value in given.items()]
        limit_s = float(str(given["seconds"])) + float(str(given["warm-up"])) + _STARTS_WITHIN_S
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
    if done.returncode:
        raise SystemExit(f"the load on {address} failed:\n{done.stderr}")
    return json.loads(done.stdout)
