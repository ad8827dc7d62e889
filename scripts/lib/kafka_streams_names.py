"""What each operator of Kafka Streams is called here, and what each of ours is called there.

A name that differs in its spelling alone (`KStream.selectKey`, `Stream.select_key`) is found by itself:
`THEIRS` lists what Kafka Streams has, `OTHERWISE` where ours has another name or does only a part,
and `OURS_ALONE` what has no counterpart. An operator of ours that is in none of them is an error.

Source: the interfaces of Kafka Streams 4.1, `org.apache.kafka.streams.kstream`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

THEIRS: Final[Mapping[str, str]] = {
    "StreamsBuilder": "stream table globalTable addStateStore addGlobalStore build",
    "KStream": (
        "filter filterNot selectKey mapValues map flatMap flatMapValues print foreach peek split merge "
        "repartition to toTable groupByKey groupBy join leftJoin outerJoin process processValues"
    ),
    "BranchedKStream": "branch defaultBranch noDefaultBranch",
    "KTable": (
        "filter filterNot mapValues toStream suppress transformValues groupBy join leftJoin outerJoin "
        "queryableStoreName"
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
"""Which of our classes stands for an interface of theirs. For others a name alone decides."""

OTHERWISE: Final[Mapping[str, tuple[str, str]]] = {
    "KStream.foreach": ("Stream.for_each", "of a record; at least once, beside the tasks"),
    "KStream.peek": ("Stream.peek", "a function is called beside what goes on"),
    "StreamsBuilder.addStateStore": ("Stream.process", "`stores=`"),
    "KStream.flatMap": ("Stream.flat_map", "an expression gives the elements"),
    "KStream.flatMapValues": ("Stream.flat_map_values", "an expression gives the elements"),
    "BranchedKStream.branch": ("Stream.split", "a condition by the branch's name"),
    "BranchedKStream.defaultBranch": ("Stream.split", "`default=`"),
    "BranchedKStream.noDefaultBranch": ("Stream.split", "without `default=`"),
    "KTable.join": ("Table.join", "a foreign key, of key and value too, is `on=`"),
    "KTable.leftJoin": ("Table.left_join", "a foreign key, of key and value too, is `on=`"),
    "KTable.transformValues": ("Table.map_values", "expressions over a row, without a store"),
    "KTable.queryableStoreName": (
        "Table.store_name",
        "None where rows are computed from those of others",
    ),
    "GlobalKTable.queryableStoreName": ("GlobalTable.store_name", ""),
    "TimeWindowedKStream.emitStrategy": ("Grouped.windowed_by", "`emit=`"),
    "SessionWindowedKStream.emitStrategy": ("Grouped.windowed_by", "`emit=`"),
}
"""Names of theirs: what does the same here, and how far. One that ours has too wins."""

PROPERTIES: Final = ("Table.store_name", "GlobalTable.store_name")
"""What is asked of a handle and makes no records."""

OURS_ALONE: Final[Mapping[str, str]] = {
    "Topology.describe": "Topology.describe",
    "Stream.with_headers": "Record.withHeaders, in processValues",
    "Stream.without_headers": "Headers.remove, in processValues",
    "Stream.with_time": "Record.withTimestamp, in process",
    "Stream.map_async": "KStream.mapValues, whose function waits for each record",
    "Stream.process_to": "KStream.process, of a processor whose children have names",
    "Stream.distinct": "KStream.process, of a processor with a window store",
    "Stream.explode": "KStream.flatMapValues, with the columns that there are",
    "Stream.with_columns": "KStream.mapValues, with the columns that there are",
    "Table.with_columns": "KTable.mapValues, with the columns that there are",
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
"""Operators of ours that no interface of theirs has under such a name, and what is near to them."""


@dataclass(frozen=True, slots=True)
class Counterpart:
    """An operator of Kafka Streams, and ours for it: empty where there is none."""

    theirs: str
    ours: str
    note: str = ""


def counterparts(ours: Iterable[str]) -> list[Counterpart]:
    """Return for each operator of Kafka Streams which of `ours` (`Stream.filter`) it is."""
    known = [*ours, *PROPERTIES]
    return [
        _counterpart(interface, name, known)
        for interface, names in THEIRS.items()
        for name in names.split()
    ]


def names_there(ours: Iterable[str]) -> dict[str, str]:
    """Return what each of `ours` is called in Kafka Streams.

    Raises:
        LookupError: one of them stands nowhere in this file.
    """
    known = list(ours)
    named = {name: OURS_ALONE.get(name, "") for name in known}
    for row in counterparts(known):
        if row.ours not in OURS_ALONE and row.ours and _plain(row.ours) == _plain(row.theirs):
            named[row.ours] = ", ".join(filter(None, (named[row.ours], row.theirs)))
    missing = [name for name, there in named.items() if not there]
    if missing:
        raise LookupError(
            f"{', '.join(missing)}: say in scripts/lib/kafka_streams_names.py what Kafka Streams "
            "has that is near to it (OURS_ALONE)"
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
