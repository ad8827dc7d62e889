"""A short-lived process in which Spark's own resolver fetches jars into a directory.

    python -m duolog.engine.jvm.jar_resolver DIRECTORY GROUP:ARTIFACT:VERSION...

Spark resolves `ivy://` coordinates against the repositories configured on the machine, so no
host is named here. `transitive=false`, because an unavailable parent would fail the rest.
The jars arrive in DIRECTORY/jars; `duolog.engine.jvm.jars` verifies them before they are used.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession


def resolve(directory: Path, coordinates: list[str]) -> None:
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "512m")
        .config("spark.jars.ivy", str(directory))
        .config("spark.local.dir", str(directory / "local"))
        .config("spark.sql.warehouse.dir", str(directory / "warehouse"))
        .getOrCreate()
    )
    try:
        for coordinate in coordinates:
            try:
                spark.sql(f"ADD JAR 'ivy://{coordinate}?transitive=false'")
            except Exception as error:  # noqa: BLE001 - of py4j or Spark, depending on the cause
                # The others are still fetched, so that one run reports all that are missing.
                print(error, file=sys.stderr)  # noqa: T201 - read by `jars`
    finally:
        spark.stop()


if __name__ == "__main__":
    resolve(Path(sys.argv[1]), sys.argv[2:])
