"""Read the rows of a store as of the last commit of an application, from its checkpoint.

The checkpoint is read from disk, whether or not a query runs on it. Spark copies the state files of
the commit and scans the whole store, so a query takes a second or more, whatever its bounds; only
the requested rows leave the JVM.

Source: Spark's state data source (`spark.read.format("statestore")`).
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from duolog.engine.checkpoint.checkpoint import Checkpoint
from duolog.engine.checkpoint.checkpoint_files import last_commit
from duolog.engine.checkpoint.checkpoint_positions import positions_in
from duolog.engine.json_object import Json
from duolog.engine.lowering.stores.store_queries import Bounds, lower_store_query, shown_columns
from duolog.engine.spark.failures import to_query_failed
from duolog.engine.spark.session import Session
from duolog.engine.topics.offsets import EndOffsets
from duolog.functions.processors.stored import StoreEntry, rows_of
from duolog.plan.cutting.levels import Levels
from duolog.plan.nodes import Node, ProcessorRows
from duolog.serde.row import Row
from duolog.serde.serde import key_serde, value_serde

if TYPE_CHECKING:
    from duolog.engine.java_objects import JavaObject

KeptRow = tuple[Row, Row, int]
"""Key and value columns, and the timestamp."""
ShownEntry = tuple[int, bytes | None, bytes | None, int]
"""The number of its task, key and value as rendered by the kernel, and the timestamp."""

_METADATA: Final = "_metadata/v2"


class RowReader:
    """Parses rows that were rendered as JSON."""

    def __init__(self, table: Node, levels: Levels) -> None:
        self._of_processor = table.kept if isinstance(table, ProcessorRows) else None
        kept = table.schema.value if self._of_processor else shown_columns(table, levels)
        self._keys = key_serde("JSON", table.schema.key)
        self._values = value_serde("JSON", kept)
        # Columns that nothing downstream of a table reads are not stored: they are null here.
        self._places = [
            kept.index(column) if column in kept else None for column in table.schema.value
        ]

    def rows(self, shown: Iterable[ShownEntry]) -> list[KeptRow]:
        """Parse entries to rows; an entry of a processor's store may contain several, or none."""
        if self._of_processor is None:
            return [self._row(key, value, ts) for _, key, value, ts in shown]
        kept = (StoreEntry(task, key or b"", value or b"", ts) for task, key, value, ts in shown)
        return list(rows_of(self._of_processor, kept))

    def _row(self, key: bytes | None, value: bytes | None, timestamp_ms: int) -> KeptRow:
        """Return the row in this JSON."""
        key_row, value_row = self._keys.deserialize(key), self._values.deserialize(value)
        assert key_row is not None
        assert value_row is not None
        whole = tuple(None if at is None else value_row[at] for at in self._places)
        return key_row, whole, timestamp_ms


@dataclass(frozen=True, slots=True)
class StoreQuery:
    """A query of the store of a table, in a plan as it was lowered, within bounds of its key."""

    levels: Levels
    spec: Json
    table: Node
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class CommittedRows:
    """Rows of a store, and the position that they reflect."""

    rows: Sequence[KeptRow] = ()
    position: EndOffsets = field(default_factory=dict)
    """The next offset of each partition after the records reflected; empty before a commit."""


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """The location of a store in a Spark checkpoint, at a commit."""

    spark_dir: Path
    operator: int
    commit: int
    store: str
    """Its name in that checkpoint."""


def locate_store(checkpoint: Checkpoint, store: str) -> StoreLocation | None:
    """Return the location of a store as of the last commit; None if nothing was committed to it.

    After an upgrade that has committed nothing yet, this is where its entries come from.
    """
    commit = last_commit(checkpoint.spark_dir)
    if commit is None:
        kept = (of for of in checkpoint.upgrade.initial_stores() if of["becomes"] == store)
        return next(
            (
                StoreLocation(Path(of["checkpoint"]), of["operator"], of["commit"], of["store"])
                for of in kept
            ),
            None,
        )
    operator = operator_of(checkpoint.spark_dir, store)
    return (
        None if operator is None else StoreLocation(checkpoint.spark_dir, operator, commit, store)
    )


def read_committed(session: Session, checkpoint: Checkpoint, look: StoreQuery) -> CommittedRows:
    """Return the rows of a store as of the last commit; none before the first one.

    Raises:
        QueryFailed: the checkpoint cannot be read.
    """
    place, commit = (
        locate_store(checkpoint, look.table.stores[0]),
        last_commit(checkpoint.spark_dir),
    )
    if place is None and commit is None:
        return CommittedRows()
    # After an upgrade it starts at the position that the previous topology had read.
    position = checkpoint.starts()
    if commit is not None:
        entry = checkpoint.spark_dir / "offsets" / str(commit)
        position = positions_in(entry.read_text(), position)
    if place is None:
        return CommittedRows(position=position)
    spec, lowered = look.spec, lower_store_query(look.table, look.levels, look.bounds)
    spark = session.spark
    java_session: JavaObject = spark._jsparkSession  # noqa: SLF001
    reader = session.kernel("StoreReader")
    try:
        at = str(place.spark_dir), place.operator, place.commit, place.store
        read = reader.read(java_session, *at, json.dumps(spec), json.dumps(lowered))
        found = DataFrame(read, spark).collect()
    except (Py4JError, PySparkException) as error:
        raise to_query_failed(error, spec["application_id"], session.log_path) from error
    shown = ((task, _bytes(key), _bytes(value), ts) for key, value, ts, task in found)
    return CommittedRows(RowReader(look.table, look.levels).rows(shown), position)


def operator_of(spark_dir: Path, store: str) -> int | None:
    """Return Spark's stateful operator that has a store; None if none has it yet."""
    for path in sorted(spark_dir.glob(f"state/*/{_METADATA}/[0-9]*")):
        _version, _, content = path.read_text().partition("\n")
        properties = json.loads(json.loads(content)["operatorPropertiesJson"])
        if any(state["stateName"] == store for state in properties["stateVariables"]):
            return int(path.parents[2].name)
    return None


def _bytes(data: bytearray | None) -> bytes | None:
    return None if data is None else bytes(data)
