"""Kafka Streams as the reference: a plan in its DSL, run by its TopologyTestDriver.

    plan ──► JSON ──► java/*.java builds the DSL ──► records in, records of the sinks out

One JVM answers many cases. Records go as rows and not as bytes: other tests compare formats. In
tests, ask for the fixture `kafka_streams`.
"""

import base64
import json
import select
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from conformance.kafka.peer import fetch
from duolog.dsl.grouping.reducing import ANY
from duolog.plan.cutting.levels import find_levels
from duolog.plan.expressions import (
    AccumulatorRef,
    Call,
    Cast,
    ColumnRef,
    Expression,
    Item,
    Literal,
    Metadata,
    RowTime,
    TableColumnRef,
)
from duolog.plan.nodes import (
    AggregateNode,
    Announce,
    Answers,
    Branch,
    Explode,
    Filter,
    ForeignJoin,
    ForeignTable,
    GlobalTableJoin,
    GlobalTableSource,
    GroupBy,
    JoinSide,
    Merge,
    Newest,
    Node,
    Numbered,
    Plan,
    Project,
    Repartition,
    SelectKey,
    SetHeaders,
    SetTime,
    Sink,
    Split,
    StreamJoin,
    StreamJoinSide,
    StreamSource,
    StreamTableJoin,
    Subscribe,
    Subscriptions,
    Suppress,
    TableJoin,
    TableSource,
    ToStream,
    ToTable,
)
from duolog.plan.times import SourceTimes
from duolog.plan.windows import Windows
from duolog.plan.windows.calendar_windows import CalendarWindows

SOURCES: Final = Path(__file__).parent / "java"
COMPILE_TIMEOUT_S: Final = 120
ANSWER_TIMEOUT_S: Final = 60
CALENDAR_MS: Final = (1_735_689_600_000, 1_830_297_600_000)
"""The years 2025 to 2027: Kafka Streams gets the windows of these years."""

Json = dict[str, Any]
Headers = tuple[tuple[str, bytes | None], ...]


class OracleError(Exception):
    """Kafka Streams could not be compiled or could not run a case; the message has the reason."""


class Given(NamedTuple):
    """A record of a source topic, as a row."""

    topic: str
    key: tuple[object, ...] | None
    value: tuple[object, ...] | None
    time: int
    partition: int = 0
    headers: Headers = ()


class Written(NamedTuple):
    """A record of a sink topic, as a row."""

    key: tuple[object, ...] | None
    value: tuple[object, ...] | None
    time: int
    headers: Headers = ()


ByTopic = dict[str, list[Written]]
"""The records of each sink topic, in order."""


class KafkaStreams:
    """A JVM with Kafka Streams' DSL and test driver."""

    def __init__(self, directory: Path) -> None:
        libs = f"{fetch()}/*"
        classes = directory / "classes"
        _compile(libs, classes)
        self._log = (directory / "oracle.log").open("w+")
        command = ["java", "-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        command += ["-Dlog4j2.level=ERROR", "-cp", f"{classes}:{libs}", "StreamsOracle"]
        self._process = subprocess.Popen(
            [*command, str(directory / "state")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            encoding="utf-8",
            bufsize=1,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()

    def run(
        self,
        plan: Plan,
        batches: Iterable[Sequence[Given]],
        *,
        cache_bytes_max: int = 0,
        unmodified: bool = False,
    ) -> list[ByTopic]:
        """Return the output of Kafka Streams for each batch; it commits after each.

        With `unmodified` it has its default stores, retentions, record cache and intervals, and
        commits after each record.

        Raises:
            OracleError: Streams cannot run the plan.
        """
        sinks = [topic for sink in plan.sinks for topic in sink.topics]
        answer = self._ask(
            {
                "plan": plan_as_json(plan, unmodified=unmodified),
                "unmodified": unmodified,
                "cache": cache_bytes_max,
                "sinks": sinks,
                "batches": [[_given_as_json(record) for record in batch] for batch in batches],
            }
        )
        if "error" in answer:
            raise OracleError(answer["error"])
        return [
            {topic: [_written(record) for record in batch[topic]] for topic in sinks}
            for batch in answer["batches"]
        ]

    def describe(self, plan: Plan) -> str:
        """Return a plan as Kafka Streams describes it.

        Raises:
            OracleError: Streams cannot build the plan.
        """
        answer = self._ask({"plan": plan_as_json(plan)})
        if "error" in answer:
            raise OracleError(answer["error"])
        text: str = answer["text"]
        return text

    def _ask(self, case: Json) -> Json:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(case) + "\n")
        stdin.flush()
        readable, _, _ = select.select([stdout], [], [], ANSWER_TIMEOUT_S)
        line = stdout.readline() if readable else ""
        if not line:
            self._log.seek(0)
            raise OracleError("Kafka Streams does not answer:\n" + self._log.read()[-2000:])
        found: Json = json.loads(line)
        return found


def _compile(libs: str, classes: Path) -> None:
    command = ["javac", "-nowarn", "-d", str(classes), "-cp", libs]
    done = subprocess.run(
        [*command, *map(str, sorted(SOURCES.glob("*.java")))],
        capture_output=True,
        text=True,
        timeout=COMPILE_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise OracleError(f"javac failed:\n{done.stdout}{done.stderr}")


def _given_as_json(record: Given) -> Json:
    return {
        "topic": record.topic,
        "key": record.key,
        "value": record.value,
        "time": record.time,
        "headers": [
            [name, None if data is None else base64.b64encode(data).decode()]
            for name, data in record.headers
        ],
    }


def _written(record: Json) -> Written:
    key, value = (None if row is None else tuple(row) for row in (record["key"], record["value"]))
    headers = tuple(
        (name, None if data is None else base64.b64decode(data)) for name, data in record["headers"]
    )
    return Written(key, value, record["time"], headers)


def plan_as_json(plan: Plan, *, unmodified: bool = False) -> list[Json]:
    """Return the nodes of a plan, parents first; each group is a node, also by the same key."""
    nodes = [known for node in plan.nodes for known in (*_group_of(node), node)]
    copied = find_levels(plan).cut.copied
    ids = {node: number for number, node in enumerate(dict.fromkeys(nodes))}
    return [
        {
            "id": ids[node],
            "parents": [ids[parent] for parent in _parents(node)],
            "is_table": node.is_table,
            "key": [column.name for column in node.schema.key],
            "value": [column.name for column in node.schema.value],
            "windowed": node.schema.window is not None,
            **_described(node),
            # A replicated aggregate has no record cache: the copy must equal the store.
            "cached": node not in copied,
            "unmodified": unmodified,
        }
        for node in ids
    ]


def _parents(node: Node) -> tuple[Node, ...]:
    if isinstance(node, TableJoin | ForeignJoin | StreamJoin):
        return node.left, node.right
    if isinstance(node, Merge):
        # Of several streams each is merged once; one with itself is a call that brings each record
        # once.
        return node.parents if len(node.parents) > 1 else node.parents * 2
    if (merge := _cogroup_of(node)) is not None:
        return merge.streams
    return _group_of(node) or node.parents


def _group_of(node: Node) -> tuple[Node, ...]:
    alone = isinstance(node, AggregateNode) and _cogroup_of(node) is None
    return (node.group,) if isinstance(node, AggregateNode) and alone else ()


def _cogroup_of(node: Node) -> Merge | None:
    """Return the merge of the streams of a cogroup if `node` aggregates one."""
    merge = node.group.parent if isinstance(node, AggregateNode) else None
    return merge if isinstance(merge, Merge) and merge.name.startswith("cogroup") else None


def _described(node: Node) -> Json:  # noqa: PLR0911, PLR0912 - a table of cases
    match node:
        case StreamSource(topic=topic, times=times):
            return {"kind": "stream", "topic": topic, **_times(times)}
        case GlobalTableSource(topic=topic):
            return {"kind": "global_table", "topic": topic}
        case TableSource(topic=topic, history_ms=history_ms, times=times):
            return {"kind": "table", "topic": topic, "history_ms": history_ms, **_times(times)}
        case Filter(predicate=predicate):
            return {"kind": "filter", "predicate": _expression(predicate)}
        case Project(values=values):
            return {"kind": "project", "values": _values(values)}
        case Explode(of=of, into=into, outer=outer):
            return {"kind": "explode", "of": _expression(of), "into": into, "outer": outer}
        case Split(predicates=predicates):
            return {"kind": "split", "predicates": [_expression(one) for one in predicates]}
        case Branch(number=number):
            return {"kind": "branch", "number": number}
        case SelectKey() | GroupBy():
            return {
                "kind": "select_key" if isinstance(node, SelectKey) else "group_by",
                "keys": _values(node.keys),
                "values": _values(node.values),
                "changes_key": node.rekeys,
            }
        case AggregateNode():
            reduces = ANY in {kept.name for kept in node.accumulators}
            return {
                "kind": "cogroup" if _cogroup_of(node) else "aggregate",
                **({"reduces": ANY} if reduces else {}),
                "store": node.store,
                "accumulators": [
                    {
                        "name": kept.name,
                        "initial": _expression(kept.initial),
                        "add": _expression(kept.add),
                        "subtract": kept.subtract and _expression(kept.subtract),
                        "merge": kept.merge and _expression(kept.merge),
                    }
                    for kept in node.accumulators
                ],
                "results": _values(node.results),
                **({"windows": _windows(node.windows)} if node.windows else {}),
                "on_close": node.emits_on_close,
                "retention": node.retention_ms,
            }
        case Suppress():
            return {
                "kind": "suppress",
                "time_limit": node.time_limit_ms,
                "max_records": node.max_records,
                "shut_down": node.shut_down,
            }
        case StreamTableJoin(kind=kind, values=values, grace_ms=grace_ms):
            waits = {} if grace_ms is None else {"grace_ms": grace_ms}
            return {"kind": "join", "left": kind == "left", "values": _values(values), **waits}
        case GlobalTableJoin(kind=kind, keys=keys, values=values):
            return {
                "kind": "global_join",
                "left": kind == "left",
                "keys": [_expression(key) for key in keys],
                "values": _values(values),
            }
        case (
            JoinSide() | StreamJoinSide() | Numbered() | Announce() | Subscribe() | Subscriptions()
        ):
            return {"kind": "side"}
        case ForeignTable() | Answers() | Newest():
            return {"kind": "side"}
        case ForeignJoin(kind=kind, keys=keys, values=values):
            which = {"kind": "foreign_join", "left": kind == "left"}
            return {**which, "keys": _values(keys), "values": _values(values)}
        case StreamJoin(sides=(left, _)):
            return {
                "kind": "stream_join",
                "join": left.kind,
                "eager": left.eager,
                "values": _values(left.values),
                **asdict(left.window),
            }
        case TableJoin(sides=(left, _)):
            return {"kind": f"table_{left.kind}_join", "values": _values(left.values)}
        case SetHeaders(headers=written, removed=removed, clears=clears):
            return {
                "kind": "headers",
                "clears": clears,
                "removed": removed,
                "written": [name for name, _ in written],
                "values": _values(written),
            }
        case SetTime(time=time):
            return {"kind": "time", "time": _expression(time)}
        case ToStream():
            return {"kind": "to_stream"}
        case Merge():
            return {"kind": "merge"}
        case Repartition():
            return {"kind": "repartition"}
        case ToTable():
            return {"kind": "to_table"}
        case Sink(topic=topic, topic_of=topic_of):
            chosen = {"topic_of": _expression(topic_of)} if topic_of else {}
            return {"kind": "sink", "topic": topic, **chosen}
        case _:
            raise AssertionError(f"the oracle does not support {node}")


def _windows(windows: Windows) -> Json:
    """Return the fields of windows; for calendar windows, their starts over some years."""
    described: Json = {"kind": type(windows).__name__, **asdict(windows)}
    if isinstance(windows, CalendarWindows):
        (start,) = windows.starts(CALENDAR_MS[0])
        starts = [start]
        while starts[-1] < CALENDAR_MS[1]:
            starts.append(windows.end(starts[-1]))
        described["starts"] = starts
    return described


def _times(times: SourceTimes) -> Json:
    reported = {} if times.of is None else {"timestamp": _expression(times.of)}
    return reported | ({} if times.invalid is None else {"invalid_timestamp": times.invalid})


def _values(named: tuple[tuple[str, Expression], ...]) -> list[Json]:
    return [_expression(expression) for _, expression in named]


def _expression(expression: Expression) -> Json:  # noqa: PLR0911 - a table of cases
    match expression:
        case ColumnRef(name):
            return {"is": "column", "name": name}
        case TableColumnRef(name):
            return {"is": "table", "name": name}
        case AccumulatorRef(name):
            return {"is": "accumulator", "name": name}
        case RowTime():
            return {"is": "time"}
        case Metadata(part, header):
            return {"is": "metadata", "part": part, "header": header}
        case Literal(value, _):
            return {"is": "literal", "value": value}
        case Cast(arg, of):
            return {"is": "cast", "to": str(of), "arg": _expression(arg)}
        case Item(arg, of):
            given = [_expression(arg), _expression(of)]
            return {"is": "call", "function": "ITEM", "args": given}
        case Call(function, args):
            given = [_expression(arg) for arg in args]
            return {"is": "call", "function": function, "args": given}
        case _:
            raise AssertionError(f"the oracle cannot evaluate {expression}")
