"""Move the state of an application to another number of tasks.

    spark/ (M tasks) ─▶ entries of each store, at the last commit ─▶ task of the key, of N ─▶
    spark-2/ (N tasks)

The number of tasks says where a key's state lies, so it stays as the first start has chosen it.
Here each entry goes to the task that its record key has among the new ones, on the way of an
upgrade (ADR 0074): at the next start, in its first micro-batch. What is a task's own (stream time,
the buckets that have rows, numbers) is made of that of the tasks whose keys it gets (the kernel's
`TaskStateMigration`). Where the record key of an entry is, `_forms` says for each kind of node.

Each old task has emitted results on close up to a position of its own: a new task continues at the
minimum of these, and knows what the others had emitted beyond it (`MigratedEmittedPosition`).

The keys of a processor's store are defined by user code. A store whose key contains the columns of
the record key is moved by these, provided each row is in the task of that key; this is checked
before anything is changed.

State that does not belong to a task by key is refused by name: other stores of processors, global
tables, tasks chosen by a function.

If the number of tasks stays the same, everything can be moved: each entry stays in its task. This
creates changelogs with new names, after one was lost.

Kafka Streams has no equivalent: there, more partitions mean a reset of the application.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from duolog.engine.checkpoint.checkpoint_files import last_commit
from duolog.engine.checkpoint.pending_upgrade import Upgraded
from duolog.engine.claims import Claimed
from duolog.engine.engine import Engine
from duolog.engine.errors import NotRepartitionable
from duolog.engine.json_object import Json
from duolog.engine.jvm.versions import versions
from duolog.engine.lowering.plan_shapes import shape_of_plan
from duolog.engine.lowering.spark_sql.sql import spark_type, spark_types, text
from duolog.engine.lowering.spec.spec_graph import subtopologies_of
from duolog.engine.spark.failures import to_query_failed
from duolog.engine.spark.session import Session
from duolog.engine.upgrades.renaming import filled_by
from duolog.engine.upgrades.upgrade_plan import initial_stores
from duolog.plan.cutting.levels import find_levels
from duolog.plan.nodes import Plan, Process
from duolog.plan.types import render_columns

if TYPE_CHECKING:
    from duolog.engine.java_objects import JavaObject

_WITHOUT_STORE: Final = frozenset(
    [
        *("filter", "project", "explode", "split", "select_key", "route", "lookup", "join"),
        *("headers", "time", "to_stream", "print", "sink", "python", "idle"),
        *("announce", "subscribe", "foreign_table", "foreign_join"),
        *("process_output", "punctuate"),
    ]
)
_OF_OWN: Final = {
    "wait": "waiting",
    "number": "numbers",
    "subscriptions": "subscriptions",
    "newest": "rows",
}
_KEY_COLUMNS_MAX: Final = 62
"""With the bounds of a window these are 64: more would move columns to other positions in a row."""


def _forms(node: Json) -> dict[str, str]:
    """Return how the stores of a node lie, by name, as the kernel's `StateRepartitioner.Form` says.

    Raises:
        NotRepartitionable: the task of an entry cannot be determined.
    """
    kind, name = node["kind"], node["name"]
    match kind:
        case "table" | "fold":
            by_time = "versions" if node.get("history_ms") is not None else "expiring"
            plain = node.get("ttl_ms") is None and by_time == "expiring"
            return {node["store"]: "rows" if plain else by_time}
        case "window_fold" | "session_fold" | "sliding_fold":
            closing = bool(node.get("on_close"))
            if closing and node.get("lost_ms") is not None:
                raise _refused(name, "loses results if time jumps, as it does when keys are merged")
            return {node["store"]: "closing" if closing else "windows"}
        case "suppress":
            return {node["store"]: "windows"}
        case "stream_join":
            found = {node["store"]: "lists"} if node["fills"] else {}
            waiting = {node["unmatched"]: "unmatched"} if node["unmatched"] else {}
            return found | waiting
        case "wait" | "number" | "subscriptions" | "newest":
            return {node["store"]: _OF_OWN[kind]}
        case "process":
            return {node["store"]: "schedules"} | dict.fromkeys(node["stores"], "processor")
        case _:
            raise _refused(name, f"has state that cannot be moved ({kind})")


@dataclass(frozen=True, slots=True)
class Movable:
    """A store whose entries can be moved, and how the task of a key is chosen."""

    name: str
    subtopology: int
    key_types: list[str]
    key_bytes: str
    form: str = "rows"
    keys: Sequence[str] = ()
    """For a processor's store: the record key's columns, taken from the store's key, in JSON."""

    def as_kernel_reads_it(self, tasks_before: int) -> Json:
        """Return what its `InitialState` needs beyond the fields of a store that stays."""
        return {
            "key_types": self.key_types,
            "keys": list(self.keys),
            "key_bytes": self.key_bytes,
            "form": self.form,
            "tasks_before": tasks_before,
        }


@dataclass(frozen=True, slots=True)
class Repartitioned:
    """The result: what the next start begins with."""

    tasks_before: int
    tasks: int
    stores: Sequence[str]


def repartition(engine: Engine, plan: Plan, application_id: str, tasks: int) -> Repartitioned:
    """Make the next start of a stopped application use another number of tasks.

    Raises:
        NotRepartitionable: it has no state yet, or state that cannot be moved.
        CheckpointMismatch, CheckpointDamaged, CheckpointInUse, CheckpointNotWritable: as a start.
    """
    with engine.claimed(application_id) as claimed:
        done = _repartition(engine, plan, application_id, tasks, claimed)
        claimed.release()
        return done


def _repartition(
    engine: Engine, plan: Plan, application_id: str, tasks: int, claimed: Claimed
) -> Repartitioned:
    checkpoint, session = claimed
    pinned, (spark_dir, positions) = checkpoint.pinned_shape(), checkpoint.upgrade.go_on_from()
    if pinned is None or last_commit(spark_dir) is None:
        raise NotRepartitionable(
            f'application "{application_id}" has no state',
            query_id=application_id,
            detail=f"Nothing is committed in {checkpoint.directory}.",
            hint="Set the number of tasks for its first start with the setting tasks.",
        )
    before = int(pinned["tasks"])
    old, new = (find_levels(plan, count) for count in (before, tasks))
    shape = shape_of_plan(old, application_id)
    checkpoint.ensure_fits(application_id, shape, {})
    spec = engine.spec(new, application_id)
    # If another number was requested since the last commit, the state still has the previous one.
    content = checkpoint.file.content() or {}
    is_current = spark_dir == checkpoint.spark_dir
    lies_in = int((content if is_current else content["before"])["tasks"])
    places = places_of_stores(spec)
    initial = initial_stores(places, spark_dir, {store: store for store in places})
    if tasks != lies_in:
        moved = {of.name: of.as_kernel_reads_it(lies_in) for of in movable_stores(spec, plan)}
        initial = [of | moved[of["store"]] for of in initial]
        _ensure_keys_of_records(session, spec, initial)
    # A changelog has a partition for each task, and one may be lost: all of them are created again.
    going_on = Upgraded(
        versions(), checkpoint.topic_ids(), positions, initial, stores=spec["stores"]
    )
    checkpoint.upgrade.begin(shape_of_plan(new, application_id), going_on)
    return Repartitioned(before, tasks, sorted(places))


def places_of_stores(spec: Json) -> dict[str, int]:
    """Return the stores of Spark's state, each with its sub-topology."""
    places, found = subtopologies_of(spec), {}
    for number, node in spec["nodes"].items():
        of_processor = [node["store"], *node["stores"]] if node["kind"] == "process" else []
        for store in (*filled_by(node), *of_processor):
            found[store] = places[int(number)]
    return found


def movable_stores(spec: Json, plan: Plan) -> list[Movable]:
    """Return the stores of a plan, which was lowered to `spec`, by name.

    Raises:
        NotRepartitionable: a store holds state that does not belong to a task by key.
    """
    places = subtopologies_of(spec)
    choosing: dict[int, set[str]] = {}
    targets = {edge["id"]: edge for edge in spec["edges"]}
    for node in spec["nodes"].values():
        if node["kind"] == "route":
            edge = targets[node["edge"]]
            if spec["nodes"][str(edge["node"])]["kind"] in {"idle", "punctuate"}:
                continue  # Ticks go to all tasks, and are not stored.
            if node["everywhere"] or node["partition"] or node["partitions"]:
                raise _refused(node["name"], "does not choose tasks by the key")
            choosing.setdefault(edge["subtopology"], set()).add(node["key_bytes"])
    found = {}
    processors = {node.name: node for node in plan.nodes if isinstance(node, Process)}
    for number, node in spec["nodes"].items():
        if node["kind"] in _WITHOUT_STORE:
            continue
        place = places[int(number)]
        for store, form in _forms(node).items():
            if len(choosing[place]) != 1:
                raise _refused(node["name"], "gets keys in several forms")
            if len(node["key_types"]) > _KEY_COLUMNS_MAX:
                raise _refused(node["name"], f"has more than {_KEY_COLUMNS_MAX} columns of a key")
            (key_bytes,) = choosing[place]
            if form == "closing" and node["on_close"] != key_bytes:
                # The bytes that order results also determine which task has emitted a row.
                raise _refused(
                    node["name"],
                    "emits results on close in the order of other bytes than those of its key",
                )
            if form == "processor":
                types, keys = _record_key(processors[node["name"]], store)
            else:
                types, keys = node["key_types"], []
            found[store] = Movable(store, place, types, key_bytes, form, keys)
    return [found[name] for name in sorted(found)]


def _record_key(process: Process, name: str) -> tuple[list[str], list[str]]:
    """Return the types of the record key, and its position in the keys of a processor's store.

    Raises:
        NotRepartitionable: the store's key does not contain the record key.
    """
    kept = next(kept for kept in process.kept if kept.name == name)
    wanted = process.definition.input.inner_key
    missing = [column for column in wanted if column not in kept.key]
    if missing or not wanted:
        raise _refused(
            f'store "{name}" of {process.name}',
            f"has keys of {render_columns(kept.key)}, among which the record's "
            f"({render_columns(wanted)}) is not",
        )
    named = ", ".join(f"c{at} {spark_type(column.type)}" for at, column in enumerate(kept.key))
    places = [kept.key.index(column) for column in wanted]
    return spark_types(wanted), [f"duolog_from_json(k0, {text(named)}).c{at}" for at in places]


def _ensure_keys_of_records(session: Session, spec: Json, initial: Sequence[Json]) -> None:
    """Raise NotRepartitionable if a processor's store has rows whose keys belong to other tasks."""
    if not any(of["form"] == "processor" for of in initial):
        return
    spark = session.spark_with(spec["shuffle_partitions"])
    java: JavaObject = spark._jsparkSession  # noqa: SLF001 - PySpark has no public access to Java
    kept = json.dumps({"stores": list(initial)})
    try:
        found = list(session.kernel("ProcessorKeys").misplaced(java, json.dumps(spec), kept))
    except (Py4JError, PySparkException) as error:
        raise to_query_failed(error, spec["application_id"], session.log_path) from error
    for name in found:
        store, _, key = str(name).partition(" ")
        raise _refused(
            f'store "{store}"',
            f"has a row of key {key} that is in another task than records of that key",
        )


def _refused(node: str, why: str) -> NotRepartitionable:
    return NotRepartitionable(
        f"{node} {why}, so its state cannot be moved to other tasks",
        hint="Start the topology under another name with the setting tasks: it then computes "
        "everything again from the topics.",
    )
