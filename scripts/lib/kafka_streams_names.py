"""Map the operators of Kafka Streams to those of Duolog, and back.

Names that differ only in spelling (`KStream.selectKey`, `Stream.select_key`) are matched
automatically. `THEIRS` lists the operators of Kafka Streams, `OTHERWISE` those with another name or
a partial counterpart, and `OURS_ALONE` those of Duolog without a counterpart. A Duolog operator
that is in none of them is an error.

Source: the interfaces of Kafka Streams 4.1, `org.apache.kafka.streams.kstream`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

THEIRS: Final[Mapping[str, str]] = {
    "StreamsBuilder": "stream table globalTable addStateStore addGlobalStore build",
    "KStream": (
        "filter filterNot selectKey mapValues map flatMap flatMapValues print foreach peek split "
        "merge repartition to toTable groupByKey groupBy join leftJoin outerJoin process "
        "processValues"
    ),
    "BranchedKStream": "branch defaultBranch noDefaultBranch",
    "KTable": (
        "filter filterNot mapValues toStream suppress transformValues groupBy join leftJoin "
        "outerJoin queryableStoreName"
    ),
    "GlobalKTable": "queryableStoreName",
    "KGroupedStream": "count reduce aggregate windowedBy cogroup",
    "KGroupedTable": "count reduce aggregate",
    "CogroupedKStream": "cogroup aggregate windowedBy",
    "TimeWindowedCogroupedKStream": "aggregate",
    "SessionWindowedCogroupedKStream": "aggregate",
    "TimeWindowedKStream": "count reduce aggregate emitStrategy",
    "SessionWindowedKStream": "count reduce aggregate emitStrategy",
}
"""The operators of Kafka Streams by interface."""

HOMES: Final[Mapping[str, str]] = {
    "StreamsBuilder": "Topology",
    "KStream": "Stream",
    "KTable": "Table",
    "KGroupedStream": "Grouped",
    "KGroupedTable": "Grouped",
    "CogroupedKStream": "CoGrouped",
    "TimeWindowedCogroupedKStream": "CoGrouped",
    "SessionWindowedCogroupedKStream": "CoGrouped",
    "TimeWindowedKStream": "Grouped",
    "SessionWindowedKStream": "Grouped",
}
"""Classes that correspond to interfaces of Kafka Streams; others have the same name."""

OTHERWISE: Final[Mapping[str, tuple[str, str]]] = {
    "KStream.foreach": ("Stream.for_each", "at least once per record, outside of the tasks"),
    "KStream.peek": ("Stream.peek", "a function is called outside of the tasks"),
    "StreamsBuilder.addStateStore": ("Stream.process", "`stores=`"),
    "KStream.flatMap": ("Stream.flat_map", "an expression returns the elements"),
    "KStream.flatMapValues": ("Stream.flat_map_values", "an expression returns the elements"),
    "BranchedKStream.branch": ("Stream.split", "a condition for each branch name"),
    "BranchedKStream.defaultBranch": ("Stream.split", "`default=`"),
    "BranchedKStream.noDefaultBranch": ("Stream.split", "without `default=`"),
    "KTable.join": ("Table.join", "`on=` is a foreign key, of key or value columns"),
    "KTable.leftJoin": ("Table.left_join", "`on=` is a foreign key, of key or value columns"),
    "KTable.transformValues": ("Table.map_values", "expressions over a row, without a store"),
    "KTable.queryableStoreName": (
        "Table.store_name",
        "None if the rows are computed from those of other tables",
    ),
    "GlobalKTable.queryableStoreName": ("GlobalTable.store_name", ""),
    "TimeWindowedKStream.emitStrategy": ("Grouped.windowed_by", "`emit=`"),
    "SessionWindowedKStream.emitStrategy": ("Grouped.windowed_by", "`emit=`"),
}
"""Kafka Streams name → Duolog counterpart and a note. An identical Duolog name takes precedence."""

PROPERTIES: Final = ("Table.store_name", "GlobalTable.store_name")
"""Methods that return information and produce no records."""

OURS_ALONE: Final[Mapping[str, str]] = {
    "Topology.describe": "Topology.describe",
    "Stream.with_headers": "Record.withHeaders, in processValues",
    "Stream.without_headers": "Headers.remove, in processValues",
    "Stream.with_time": "Record.withTimestamp, in process",
    "Stream.map_async": "KStream.mapValues, with a function that blocks for each record",
    "Stream.process_to": "KStream.process, with a processor that has named children",
    "Stream.distinct": "KStream.process, with a processor that has a window store",
    "Stream.explode": "KStream.flatMapValues, keeping the other columns",
    "Stream.with_columns": "KStream.mapValues, keeping the other columns",
    "Table.with_columns": "KTable.mapValues, keeping the other columns",
    "Stream.for_each": "KStream.foreach",
    "Table.for_each": "KTable.toStream().foreach",
    "Table.print": "KTable.toStream().print",
    "Table.peek": "KTable.toStream().peek",
    "Table.to": "KTable.toStream().to",
    "Grouped.materialized": "Materialized.as",
    "Stream.named": "Named.as",
    "Table.named": "Named.as",
    "CoGrouped.materialized": "Materialized.as",
    "Stream.live": "KStream.print, in a notebook",
    "Table.live": "KTable.toStream().print, in a notebook",
    "Table.to_dicts": "KafkaStreams.store(…).all()",
    "Table.to_pandas": "KafkaStreams.store(…).all(), as a DataFrame",
    "Table.to_arrow": "KafkaStreams.store(…).all(), as an Arrow table",
    "Table.to_polars": "KafkaStreams.store(…).all(), as a DataFrame of Polars",
}
"""Operators without a counterpart of their name, and the most similar one."""


@dataclass(frozen=True, slots=True)
class Counterpart:
    """An operator of Kafka Streams and its Duolog counterpart, empty if there is none."""

    theirs: str
    ours: str
    note: str = ""


def counterparts(ours: Iterable[str]) -> list[Counterpart]:
    """Return the counterpart among `ours` of each operator of Kafka Streams."""
    known = [*ours, *PROPERTIES]
    return [
        _counterpart(interface, name, known)
        for interface, names in THEIRS.items()
        for name in names.split()
    ]


def names_there(ours: Iterable[str]) -> dict[str, str]:
    """Return the name of each of `ours` in Kafka Streams.

    Raises:
        LookupError: an operator is missing from this file.
    """
    known = list(ours)
    named = {name: OURS_ALONE.get(name, "") for name in known}
    for row in counterparts(known):
        if row.ours not in OURS_ALONE and row.ours and _plain(row.ours) == _plain(row.theirs):
            named[row.ours] = ", ".join(filter(None, (named[row.ours], row.theirs)))
    missing = [name for name, there in named.items() if not there]
    if missing:
        raise LookupError(
            f"{', '.join(missing)}: add to OURS_ALONE in scripts/lib/kafka_streams_names.py, with "
            "the most similar operator of Kafka Streams"
        )
    return named


def _counterpart(interface: str, name: str, known: list[str]) -> Counterpart:
    theirs = f"{interface}.{name}"
    home = HOMES.get(interface)
    same = [
        one
        for one in known
        if _plain(one) == _plain(theirs)
        and (one.startswith(f"{home}.") if home else one.partition(".")[0] not in HOMES.values())
    ]
    otherwise, note = OTHERWISE.get(theirs, ("", ""))
    if same:
        return Counterpart(theirs, same[0], note if otherwise == same[0] else "")
    return Counterpart(theirs, otherwise, note) if otherwise in known else Counterpart(theirs, "")


def _plain(name: str) -> str:
    return name.partition(".")[2].replace("_", "").lower()
