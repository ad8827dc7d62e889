"""Plans that mean the same give the same tables, however they are written and run."""

import json
from collections import defaultdict
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from duolog import Topology, avg, col, count, max_, min_, sum_
from duolog.dsl.expressions.columns import Expr
from duolog.engine.lowering.lower import lower
from duolog.engine.lowering.stores.store_layouts import shape_of
from duolog.engine.lowering.stores.store_names import Names as StoreNames
from duolog.plan.cutting.levels import find_levels
from duolog.plan.expressions import Scope
from duolog.plan.types import STRING, parse_columns
from duolog.testing.reference import ReferenceEvaluator, SourceRecord, latest
from duolog.testing.reference.evaluation import Values, compile_expression

KEYS = st.sampled_from(["AA", "UA", "B6", None])
VALUES = st.none() | st.fixed_dictionaries(
    {
        "dest": st.sampled_from(["SFO", "BOS", "é", None]),
        "delay": st.none() | st.integers(-20, 20),
    }
)


@st.composite
def inputs(draw: st.DrawFn) -> list[SourceRecord]:
    """Records of a stream and a table in two partitions each, a key always in the same one."""
    rows = draw(
        st.lists(
            st.tuples(st.sampled_from(["flights", "airlines"]), KEYS, VALUES, st.integers(0, 9)),
            max_size=30,
        )
    )
    offsets: dict[tuple[str, int], int] = defaultdict(int)
    found = []
    for topic, key, value, time in rows:
        partition = 1 if key == "UA" else 0
        offset = offsets[topic, partition]
        offsets[topic, partition] += 1
        data = None if value is None else json.dumps(value).encode()
        found.append(
            SourceRecord(topic, partition, offset, time, key.encode() if key else None, data)
        )
    return found


def in_order(records: list[SourceRecord]) -> list[SourceRecord]:
    """The same records with times that rise over all partitions, so that order is one."""
    return [record._replace(timestamp_ms=at) for at, record in enumerate(records)]


def topology(*, filter_first: bool = False, group_again: bool = False) -> Topology:
    """Flights joined with a table, aggregated by carrier and by destination."""
    found = Topology("flights")
    airlines = found.table("airlines", key="id STRING", value="dest STRING, delay BIGINT")
    flights = found.stream("flights", key="carrier STRING", value="dest STRING, delay BIGINT")
    on_time = col("delay") < 10
    if filter_first:
        joined = flights.filter(on_time).left_join(airlines, on="carrier", prefix="home_")
    else:
        joined = flights.left_join(airlines, on="carrier", prefix="home_").filter(on_time)
    aggregates = [
        count().alias("n"),
        sum_("delay").alias("total"),
        avg("home_delay").alias("mean"),
        min_("delay").alias("low"),
        max_("home_dest").alias("high"),
    ]
    joined.group_by("carrier").aggregate(*aggregates).to("by-carrier")
    by_dest = joined.select_key("dest") if group_again else joined
    by_dest.group_by("dest").aggregate(*aggregates).to("by-dest")
    airlines.group_by("dest").aggregate(n=count(), total=sum_("delay")).to("homes")
    return found


def tables(
    built: Topology, records: list[SourceRecord], *, tasks: int, cache: bool = False, runs: int = 1
) -> list[dict[bytes | None, bytes]]:
    """Return the final tables, with the records read in the given number of micro-batches."""
    evaluator = ReferenceEvaluator(built.build(), tasks=tasks, cache=cache)
    size = max(1, -(-len(records) // runs))
    written = [
        record
        for start in range(0, len(records), size)
        for record in evaluator.run(records[start : start + size])
    ]
    return [latest(written, topic) for topic in ("by-carrier", "by-dest", "homes")]


@given(records=inputs(), tasks=st.integers(2, 5))
def test_the_number_of_tasks_never_changes_the_final_tables(
    records: list[SourceRecord], tasks: int
) -> None:
    ordered = in_order(records)

    assert tables(topology(), ordered, tasks=tasks) == tables(topology(), ordered, tasks=1)


@given(records=inputs())
def test_plans_that_mean_the_same_give_the_same_tables(records: list[SourceRecord]) -> None:
    ordered = in_order(records)
    expected = tables(topology(), ordered, tasks=2)

    assert tables(topology(filter_first=True), ordered, tasks=2) == expected
    assert tables(topology(group_again=True), ordered, tasks=2) == expected


@given(records=inputs(), runs=st.integers(2, 6))
def test_micro_batches_and_the_cache_never_change_the_final_tables(
    records: list[SourceRecord], runs: int
) -> None:
    ordered = in_order(records)
    expected = tables(topology(), ordered, tasks=2)

    assert tables(topology(), ordered, tasks=2, runs=runs) == expected
    assert tables(topology(), ordered, tasks=2, runs=runs, cache=True) == expected


@given(records=inputs())
def test_aggregates_equal_a_count_over_the_whole_history(records: list[SourceRecord]) -> None:
    """Expected: recomputed from all records, for each destination, flights that are known to be early."""
    rows = [
        json.loads(record.value) for record in records if record.topic == "flights" and record.value
    ]
    found = Topology("counts")
    found.stream("flights", key="k STRING", value="dest STRING, delay BIGINT").group_by(
        "dest"
    ).aggregate(n=count(), known=count("delay"), total=sum_("delay"), mean=avg("delay")).to("out")

    written = ReferenceEvaluator(found.build(), tasks=3).run(records)

    expected = {}
    for dest in {row["dest"] for row in rows} - {None}:
        delays = [row["delay"] for row in rows if row["dest"] == dest]
        known = [delay for delay in delays if delay is not None]
        expected[dest] = {
            "n": len(delays),
            "known": len(known),
            "total": sum(known) if known else None,
            "mean": float(Fraction(sum(known), len(known))) if known else None,
        }
    table = latest(written, "out")
    assert {(key or b"").decode(): json.loads(row) for key, row in table.items()} == expected


@given(records=inputs())
def test_a_table_aggregate_equals_one_over_the_rows_that_are_left(
    records: list[SourceRecord],
) -> None:
    rows: dict[bytes, dict[str, int | None]] = {}
    for record in records:
        if record.topic == "airlines" and record.key is not None:
            rows.pop(record.key, None)
            if record.value is not None:
                rows[record.key] = json.loads(record.value)

    found = tables(topology(), in_order(records), tasks=3)[2]

    expected: dict[object, list[int | None]] = defaultdict(list)
    for row in rows.values():
        expected[row["dest"]].append(row["delay"])
    expected.pop(None, None)
    nonempty = {(key or b"").decode(): json.loads(row) for key, row in found.items()}
    assert {dest: row["n"] for dest, row in nonempty.items() if row["n"]} == {
        dest: len(delays) for dest, delays in expected.items()
    }
    for dest, delays in expected.items():
        known = [delay for delay in delays if delay is not None]
        assert nonempty[str(dest)]["total"] == (sum(known) if known else None)


NUMBERS = st.none() | st.integers(-(2**63), 2**63 - 1)
CONDITIONS = st.none() | st.booleans()


@given(left=CONDITIONS, right=CONDITIONS)
def test_de_morgan_holds_with_nulls(left: bool | None, right: bool | None) -> None:  # noqa: FBT001
    scope = Scope(parse_columns("a BOOLEAN, b BOOLEAN"))
    values = Values({"a": left, "b": right})
    one, two = ~(col("a") & col("b")), ~col("a") | ~col("b")

    found = [compile_expression(each.expression, scope)(values) for each in (one, two)]

    assert found[0] is found[1]


@given(left=NUMBERS, right=NUMBERS)
def test_integers_stay_in_64_bits_and_add_as_a_ring(left: int | None, right: int | None) -> None:
    scope = Scope(parse_columns("a BIGINT, b BIGINT"))
    values = Values({"a": left, "b": right})

    def value_of(expression: Expr) -> object:
        return compile_expression(expression.expression, scope)(values)

    total = value_of(col("a") + col("b"))
    assert total == value_of(col("b") + col("a"))
    assert total is None or (isinstance(total, int) and -(2**63) <= total < 2**63)
    assert value_of(col("a") + col("b") - col("b")) == (left if right is not None else None)
    if left is not None and right is not None:
        quotient = value_of(col("a") / col("b"))
        assert quotient is None if right == 0 else isinstance(quotient, float)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["filter", "map", "select", "group", "join", "again", "own", "regrouped"]),
        st.integers(0, 9),
    ),
    max_size=9,
)


def grown(steps: list[tuple[str, int]]) -> Topology:
    """A topology of streams that branch, and look up each other's tables."""
    built = Topology("any")
    stream = built.stream("s", key="a STRING", value="b STRING, c BIGINT")
    streams, tables = [stream], [built.table("t", key="k STRING", value="x STRING")]
    for number, (step, choice) in enumerate(steps):
        stream = streams[-1 if choice < 6 else choice % len(streams)]
        key = stream.schema.key[0].name
        texts = [column.name for column in stream.schema.value if column.type == STRING]
        match step:
            case "filter":
                stream = stream.filter(col("c") > number)
            case "map":
                stream = stream.with_columns(c=col("c") + 1)
            case "select":
                stream = stream.select_key(texts[0])
            case "group":
                tables.append(
                    stream.group_by(texts[0]).aggregate(max_(key).alias(f"x{number}"), c=count())
                )
                stream = tables[-1].to_stream()
            case "own" | "regrouped":
                group = stream.group_by(key if step == "own" else texts[0])
                tables.append(group.aggregate(max_("c").alias(f"x{number}")))
                stream = stream.left_join(tables[-1], on=key, prefix=f"p{number}_")
            case _:
                if step == "join":
                    tables.append(built.table("t", key="k STRING", value="x STRING"))
                table = tables[choice % len(tables)]
                x = table.schema.value[0].name
                looked_up = table if choice % 2 else table.filter(col(x).is_not_null())
                stream = stream.left_join(looked_up, on=key, prefix=f"p{number}_")
        streams.append(stream)
    for number, each in enumerate(streams):
        each.to(f"out{number}")
    return built


@given(steps=STEPS)
def test_sub_topologies_read_only_shallower_levels(
    steps: list[tuple[str, int]],
) -> None:
    """Whatever is built, nothing is refused.

    Edges go down, every node is in one place, every input has an edge and a reader, and every
    table is where it is looked up.
    """
    levels = find_levels(grown(steps).build())

    level_of = {part.id: part.level for part in levels.subtopologies}
    for edge in levels.edges:
        assert edge.origin is None or level_of[edge.origin] < level_of[edge.target]
    placed = [node for part in levels.subtopologies for node in part.nodes]
    placed += [node for ingress in levels.ingresses for node in ingress.nodes]
    placed += [i.source for i in levels.ingresses if i.source not in placed]
    assert sorted(node.name for node in placed) == sorted(n.name for n in levels.nodes)
    for part in levels.subtopologies:
        for reader in part.nodes:
            for table in reader.tables:
                assert levels.looked_up(reader, table) in part.nodes
    deepest = max((part.level for part in levels.subtopologies), default=-1)
    assert len(levels.levels) == deepest + 1
    spec = lower(levels, "any", cache_bytes_max=0)
    assert all("node" in edge for edge in spec["edges"])
    kept = {store for part in levels.subtopologies for store in part.stores}
    assert shape_of(spec, StoreNames.of(levels))["stores"].keys() == kept
