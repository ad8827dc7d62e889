"""Write the JVM's class archive before the tests: `python scripts/lib/class_archive.py`.

The tests start many JVMs with Spark. Each starts sooner with an archive, and later if it is asked to record one, which
every application does as long as there is none. An application does not write its archive on a busy machine and gives up
after a minute; this program waits for it.

Does nothing if the archive exists. If it cannot be written the tests pass without it, and take longer.
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
from duolog.engine.class_archive import ClassArchive
from duolog.engine.jars import cache_dir, connector_jars, kernel_jar, spark_jars
from duolog.engine.java import ensure_java
from duolog.engine.java_end import ARCHIVE_LIMITS
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
    """Return the archive that the JVMs of the tests look for."""
    jars = (*spark_jars(), *connector_jars(_CONNECTOR), kernel_jar())
    return ClassArchive.of(ensure_java(), jars, cache_dir=cache_dir(), scratch=Path("tests"))


def write() -> None:
    """Run a query in a JVM that writes the archive; return when it has been written."""
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
    # An archive holds classes, not compiled code: the second compiler costs a JVM of a minute more than it saves.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")
    # The test run waits for the archive, on a busy machine too.
    ARCHIVE_LIMITS.load_max, ARCHIVE_LIMITS.write_s = math.inf, _WRITE_S
    print("writing the class archive, which all JVMs of the tests share", file=sys.stderr)
    try:
        write()
    except DuologError as error:
        print(f"no class archive, the tests take longer: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
