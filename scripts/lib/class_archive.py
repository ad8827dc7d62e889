"""Write the JVM's class archive before the tests: `python scripts/lib/class_archive.py`.

The tests start many JVMs with Spark. A JVM starts faster with an archive, and slower while
recording one, which every application does if there is none. On a busy machine an application does
not write the archive, and it gives up after a minute. This program waits until the archive is
written.

Does nothing if the archive exists. Without an archive, the tests pass but take longer.
"""

import math
import os
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from duolog import Application, Topology, col
from duolog.core.errors import DuologError
from duolog.engine.jvm.class_archive import ClassArchive
from duolog.engine.jvm.jars import cache_dir, connector_jars, kernel_jar, spark_jars
from duolog.engine.jvm.java import ensure_java
from duolog.engine.jvm.shutdown import ARCHIVE_LIMITS
from duolog.testing import Client, EmbeddedCluster

_WRITE_S: Final = 300.0
_CONNECTOR: Final = ""
_ROW: Final = '{"city": "Oslo", "amount": 1.5}'


def topology() -> Topology:
    """Use what most tests use: a table, a join, an aggregate and functions."""
    topology = Topology("class-archive")
    visits = topology.stream("visits", key="name STRING", value="city STRING, amount DOUBLE")
    people = topology.table("people", key="name STRING", value="city STRING")
    people.to("people-copy")
    joined = visits.left_join(people.map_values(home=col("city")))
    joined.map_values(city=col("home").upper(), amount=col("amount").round(1)).to("joined")
    visits.group_by_key().count("n").to("counts")
    return topology


def archive() -> ClassArchive:
    """Return the archive that the test JVMs use."""
    jars = (*spark_jars(), *connector_jars(_CONNECTOR), kernel_jar())
    return ClassArchive.of(ensure_java(), jars, cache_dir=cache_dir(), scratch=Path("tests"))


def write() -> None:
    """Run a query in a JVM that writes the archive, and wait until it is written."""
    with TemporaryDirectory() as directory, EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        for topic in ("visits", "people"):
            client.create_topic(topic, partitions=2)
            client.produce(topic, "ann", _ROW)
        application = Application(
            topology(), bootstrap_servers=cluster.bootstrap_servers, data_dir=Path(directory)
        )
        with application:
            if not application.start().wait_until_caught_up(_WRITE_S):
                return
    for thread in threading.enumerate():
        if thread.name == "class-archive":
            thread.join(_WRITE_S)


def main() -> None:
    if archive().exists:
        return
    # An archive contains classes, not compiled code. In a JVM that lives a minute, C2 costs more
    # than it saves.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")
    # Write the archive even on a busy machine; the test run waits for it.
    ARCHIVE_LIMITS.load_max, ARCHIVE_LIMITS.write_s = math.inf, _WRITE_S
    print("writing the class archive for the JVMs of the tests", file=sys.stderr)
    try:
        write()
    except DuologError as error:
        print(f"no class archive; the tests take longer: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
