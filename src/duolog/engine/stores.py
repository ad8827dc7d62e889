"""What a store held at the last commit of an application: read from its checkpoint, by Spark.

The checkpoint is read as it stands on disk, beside a query that runs or without one. Spark copies the
state files of the commit and goes through all of the store, so a look takes a second or more, whatever is asked for; only
what is asked for leaves the JVM.

Source: Spark's state data source (`spark.read.format("statestore")`).
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from duolog.engine.failures import to_query_failed
from duolog.engine.lowering.looks import Bounds, lower_look, shown_columns
from duolog.engine.lowering.rows import Json
from duolog.engine.session import Session
from duolog.plan.levels import Levels
from duolog.plan.nodes import Node
from duolog.serde.row import Row
from duolog.serde.serde import key_serde, value_serde

KeptRow = tuple[Row, Row, int]
"""Key and value columns, and the timestamp."""

_METADATA: Final = "_metadata/v2"


class RowReader:
    """Reads rows that were shown as JSON."""

    def __init__(self, table: Node, levels: Levels) -> None:
        kept = shown_columns(table, levels)
        self._keys = key_serde("JSON", table.schema.key)
        self._values = value_serde("JSON", kept)
        # What nobody behind a table needs is not kept: it is null here.
        self._places = [
            kept.index(column) if column in kept else None for column in table.schema.value
        ]

    def row(self, key: bytes | None, value: bytes | None, timestamp_ms: int) -> KeptRow:
        """Return the row that stands in this JSON."""
        key_row, value_row = self._keys.deserialize(key), self._values.deserialize(value)
        assert key_row is not None
        assert value_row is not None
        whole = tuple(None if at is None else value_row[at] for at in self._places)
        return key_row, whole, timestamp_ms


@dataclass(frozen=True, slots=True)
class Look:
    """What is asked for: the store of a table, in a plan as it was cut and lowered, within bounds of its key."""

    levels: Levels
    spec: Json
    table: Node
    bounds: Bounds


def read_committed(session: Session, spark_dir: Path, look: Look) -> list[KeptRow]:
    """Return the rows of a store as the last commit has left them; none before the first one.

    Raises:
        QueryFailed: the checkpoint cannot be read.
    """
    commit = last_commit(spark_dir)
    operator = _operator_of(spark_dir, look.table.stores[0])
    if commit is None or operator is None:
        return []
    spec, lowered = look.spec, lower_look(look.table, look.levels, look.bounds)
    spark = session.spark
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no public way to Java
    java_session: Any = spark._jsparkSession  # noqa: SLF001
    reader = jvm.org.duolog.kernel.StoreReader
    try:
        given = str(spark_dir), operator, commit, json.dumps(spec), json.dumps(lowered)
        found = DataFrame(reader.read(java_session, *given), spark).collect()
    except (Py4JError, PySparkException) as error:
        raise to_query_failed(error, spec["application_id"], session.log_path) from error
    row_of = RowReader(look.table, look.levels).row
    return [row_of(_bytes(key), _bytes(value), timestamp_ms) for key, value, timestamp_ms in found]


def last_commit(spark_dir: Path) -> int | None:
    """Return the number of the last micro-batch or epoch that is committed; None before the first."""
    try:
        names = [path.name for path in (spark_dir / "commits").iterdir()]
    except FileNotFoundError:
        return None
    return max((int(name) for name in names if name.isdigit()), default=None)


def _operator_of(spark_dir: Path, store: str) -> int | None:
    """Return the stateful operator of Spark that has a store; None where none has it yet."""
    for path in sorted(spark_dir.glob(f"state/*/{_METADATA}/[0-9]*")):
        _version, _, content = path.read_text().partition("\n")
        properties = json.loads(json.loads(content)["operatorPropertiesJson"])
        if any(state["stateName"] == store for state in properties["stateVariables"]):
            return int(path.parents[2].name)
    return None


def _bytes(data: bytearray | None) -> bytes | None:
    return None if data is None else bytes(data)
