"""Read the rows of a store as of the last commit of an application, from its checkpoint.

The checkpoint is read from disk, whether or not a query runs on it. Spark copies the state files of
the commit and scans the whole store, so a query takes a second or more, whatever its bounds; only
the requested rows leave the JVM. They are decoded one by one, while the JVM sends them.

Source: Spark's state data source (`spark.read.format("statestore")`).
"""

import json
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.serializers import BatchedSerializer, CPickleSerializer
from pyspark.util import _load_from_socket

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
    from py4j.java_collections import JavaArray

    from duolog.engine.java_objects import JavaObject

KeptRow = tuple[Row, Row, int]
"""Key and value columns, and the timestamp."""
ShownEntry = tuple[int, bytes | None, bytes | None, int]
"""The number of its task, key and value as rendered by the kernel, and the timestamp."""

SessionOf = Callable[[], Session]
"""Returns the session of Spark, which it opens if there is none."""

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

    def rows(self, shown: Iterable[ShownEntry]) -> Iterator[KeptRow]:
        """Parse entries to rows; an entry of a processor's store may contain several, or none."""
        if self._of_processor is None:
            return (self._row(key, value, ts) for _, key, value, ts in shown)
        kept = (StoreEntry(task, key or b"", value or b"", ts) for task, key, value, ts in shown)
        return rows_of(self._of_processor, kept)

    def _row(self, key: bytes | None, value: bytes | None, timestamp_ms: int) -> KeptRow:
        """Return the row in this JSON."""
        key_row, value_row = self._keys.deserialize(key), self._values.deserialize(value)
        assert key_row is not None
        assert value_row is not None
        whole = tuple(None if at is None else value_row[at] for at in self._places)
        return key_row, whole, timestamp_ms


@dataclass(frozen=True, slots=True)
class StoreQuery:
    """A query of the store of a table, in a plan that is lowered when rows are read."""

    levels: Levels
    spec: Callable[[], Json]
    table: Node


@dataclass(frozen=True, slots=True)
class CommittedRows:
    """Rows of a store, and the position that they reflect."""

    rows: Iterable[KeptRow] = ()
    """Read once: they arrive from the JVM while they are read."""
    position: EndOffsets = field(default_factory=dict)
    """The next offset of each partition after the records reflected; empty before a commit."""


@dataclass(frozen=True, slots=True)
class CommittedStore:
    """A store as of the last commit.

    Args:
        version: equal for two stores if their rows are the same.
        read: returns the rows within bounds of the key.
    """

    version: Hashable
    read: Callable[[Bounds], CommittedRows]


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """The location of a store in a Spark checkpoint, at a commit."""

    spark_dir: Path
    operator: int
    commit: int
    store: str
    """Its name in that checkpoint."""


def locate_store(checkpoint: Checkpoint, store: str, commit: int | None) -> StoreLocation | None:
    """Return the location of a store as of the last commit; None if nothing was committed to it.

    After an upgrade that has committed nothing yet, this is where its entries come from.
    """
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


def find_committed(checkpoint: Checkpoint, look: StoreQuery, session: SessionOf) -> CommittedStore:
    """Return a store as of the last commit; without rows before the first one.

    Starts no JVM; the session is opened when rows are read.
    """
    commit = last_commit(checkpoint.spark_dir)
    place = locate_store(checkpoint, look.table.stores[0], commit)
    # After an upgrade it starts at the position that the previous topology had read.
    position = checkpoint.starts()
    if commit is not None:
        entry = checkpoint.spark_dir / "offsets" / str(commit)
        position = positions_in(entry.read_text(), position)
    elif place is None:
        position = {}

    def read(bounds: Bounds) -> CommittedRows:
        if place is None:
            return CommittedRows(position=position)
        return CommittedRows(_rows_at(session(), place, look, bounds), position)

    at = None if place is None else (place, _identity(place.spark_dir / "commits", place.commit))
    return CommittedStore((at, json.dumps(position, sort_keys=True)), read)


def _identity(log: Path, commit: int) -> Hashable:
    """Return what differs between commits of one number: a checkpoint may be created again."""
    try:
        found = (log / str(commit)).stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _rows_at(
    session: Session, place: StoreLocation, look: StoreQuery, bounds: Bounds
) -> Iterator[KeptRow]:
    """Return the rows of a store.

    Raises:
        QueryFailed: the checkpoint cannot be read.
    """
    spec, lowered = look.spec(), lower_store_query(look.table, look.levels, bounds)
    spark = session.spark
    java_session: JavaObject = spark._jsparkSession  # noqa: SLF001
    reader = session.kernel("StoreReader")
    try:
        at = str(place.spark_dir), place.operator, place.commit, place.store
        read = reader.read(java_session, *at, json.dumps(spec), json.dumps(lowered))
        # `collect` of a data frame would return all rows at once, at 600 bytes each.
        answer = read.collectToPython()
    except (Py4JError, PySparkException) as error:
        raise to_query_failed(error, spec["application_id"], session.log_path) from error
    shown = _received(answer, spec["application_id"], session.log_path)
    return RowReader(look.table, look.levels).rows(shown)


def _received(
    answer: "JavaArray", application_id: str, log_path: Path | None
) -> Iterator[ShownEntry]:
    """Yield the rows of a data frame, from the socket on which the JVM sends them.

    Raises:
        QueryFailed: the JVM ended before it had sent all of them.
    """
    with _load_from_socket(answer, BatchedSerializer(CPickleSerializer())) as rows:  # type: ignore[no-untyped-call]
        for key, value, ts, task in rows:
            yield task, _bytes(key), _bytes(value), ts
    try:
        # The end of a connection that broke looks like the end of the rows.
        answer[2].getResult()
    except (Py4JError, OSError) as error:
        raise to_query_failed(error, application_id, log_path) from error


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
