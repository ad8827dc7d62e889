"""Records of groups, aggregates of them, and the expected results, computed from all present records."""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from hypothesis import strategies as st

from duolog import (
    Topology,
    approx_count_distinct,
    col,
    collect_list,
    collect_map,
    collect_set,
    corr,
    count_distinct,
    first,
    histogram,
    last,
    max_,
    min_,
    percentile,
    stddev,
    top_k,
    top_k_distinct,
    variance,
)
from duolog.dsl.expressions.columns import Expr

COLUMNS: Final = "g STRING, s STRING, n BIGINT, b BIGINT, d DOUBLE"
Row = dict[str, Any]
"""A record of a group as it is now; `at` is its time."""
Expected = Callable[[list[Row]], Any]
"""Computes a result from the records of a group, in the order of their arrival."""

FRACTIONS: Final = [0.0, 0.5, 0.9, 1.0]


def values(rows: Sequence[Row], column: str) -> list[Any]:
    return [row[column] for row in rows if row[column] is not None]


def by_time(rows: list[Row], *, greatest: bool) -> Any:
    found = [(row["at"], row["n"]) for row in rows if row["n"] is not None]
    choose = max if greatest else min
    return choose(found)[1] if found else None


def ranked(rows: list[Row]) -> list[float | None]:
    ordered = sorted(values(rows, "d"))
    return [ordered[math.floor(at * (len(ordered) - 1))] if ordered else None for at in FRACTIONS]


def correlation(rows: list[Row]) -> float | None:
    pairs = [(row["n"], row["d"]) for row in rows if None not in (row["n"], row["d"])]
    if len({n for n, _ in pairs}) < 2 or len({d for _, d in pairs}) < 2:
        return None
    return statistics.correlation(*zip(*pairs, strict=True))


def variance_of(rows: list[Row]) -> float | None:
    found = values(rows, "n")
    return statistics.variance(found) if len(found) > 1 else None


def top_with_text(rows: list[Row]) -> list[Row]:
    rows = [row for row in rows if row["n"] is not None]
    pairs = [(row["n"], row["s"] is not None, row["s"]) for row in rows]
    found = sorted(pairs, key=lambda pair: (*pair[:2], pair[2] or ""), reverse=True)[:3]
    return [{"n": n, "s": text} for n, _, text in found]


def pairs_of(rows: list[Row]) -> Row:
    found: Row = {}
    for row in sorted(rows, key=lambda row: (row["n"] is not None, row["n"] or 0)):
        if row["s"] is not None:
            found[row["s"]] = row["n"]
    return dict(sorted(found.items())[:3])


ANYWHERE: Final[dict[str, tuple[Expr, Expected]]] = {
    "low": (min_("b"), lambda rows: min(values(rows, "b"), default=None)),
    "high": (max_("s"), lambda rows: max(values(rows, "s"), default=None)),
    "lowest": (min_("d"), lambda rows: min(values(rows, "d"), default=None)),
    "different": (count_distinct("s"), lambda rows: len(set(values(rows, "s")))),
    "both": (
        count_distinct("b") + count_distinct("s"),
        lambda rows: len(set(values(rows, "b"))) + len(set(values(rows, "s"))),
    ),
    "often": (histogram("s"), lambda rows: dict(Counter(values(rows, "s")))),
    "top": (top_k("b", 3), lambda rows: sorted(values(rows, "b"), reverse=True)[:3]),
    "top_with": (top_k("n", 3, "s"), top_with_text),
    "top_different": (
        top_k_distinct("b", 3),
        lambda rows: sorted(set(values(rows, "b")), reverse=True)[:3],
    ),
    "ranks": (percentile("d", FRACTIONS), ranked),
    "spread": (variance("n"), variance_of),
    "deviation": (
        stddev("n"),
        lambda rows: None if variance_of(rows) is None else math.sqrt(variance_of(rows) or 0),
    ),
    "related": (corr("n", "d"), correlation),
}
"""Aggregates whose results do not depend on the order in which records are added and removed."""

OF_TABLES: Final[dict[str, tuple[Expr, Expected]]] = ANYWHERE | {
    "first": (first("n", by="time"), lambda rows: by_time(rows, greatest=False)),
    "last": (last("n", by="time"), lambda rows: by_time(rows, greatest=True)),
    "set": (collect_set("s", limit=3), lambda rows: sorted(set(values(rows, "s")))[:3]),
    "map": (collect_map("s", "n", limit=3), pairs_of),
    "few": (
        histogram("s", limit=2),
        lambda rows: dict(sorted(Counter(values(rows, "s")).items())[:2]),
    ),
}
"""Over a grouped table, in the same way."""


def last_of_each(rows: list[Row]) -> Row:
    found: Row = {}
    for row in rows:
        if row["s"] is not None and (row["s"] in found or len(found) < 3):
            found[row["s"]] = row["n"]
    return found


def first_by_time(rows: list[Row]) -> Any:
    rows = [row for row in rows if row["n"] is not None]
    return min(rows, key=lambda row: row["at"])["n"] if rows else None


def last_by_time(rows: list[Row]) -> Any:
    rows = [row for row in reversed(rows) if row["n"] is not None]
    return max(rows, key=lambda row: row["at"])["n"] if rows else None


OF_STREAMS: Final[dict[str, tuple[Expr, Expected]]] = ANYWHERE | {
    "first": (first("n"), lambda rows: next(iter(values(rows, "n")), None)),
    "last": (last("n"), lambda rows: next(reversed(values(rows, "n")), None)),
    "first_or_null": (first("n", nulls=True), lambda rows: rows[0]["n"]),
    "last_or_null": (last("n", nulls=True), lambda rows: rows[-1]["n"]),
    "earliest": (first("n", by="time"), first_by_time),
    "latest": (last("n", by="time"), last_by_time),
    "first_two": (first("n", 2), lambda rows: values(rows, "n")[:2]),
    "last_two": (last("n", 2, nulls=True), lambda rows: [row["n"] for row in rows][-2:]),
    "list": (collect_list("s", limit=4), lambda rows: values(rows, "s")[:4]),
    "all": (collect_list("s", nulls=True), lambda rows: [row["s"] for row in rows]),
    "set": (collect_set("s", limit=3), lambda rows: list(dict.fromkeys(values(rows, "s")))[:3]),
    "set_or_null": (
        collect_set("s", nulls=True),
        lambda rows: list(dict.fromkeys(row["s"] for row in rows)),
    ),
    "map": (collect_map("s", "n", limit=3), last_of_each),
    "nearly": (approx_count_distinct("s"), lambda rows: len(set(values(rows, "s")))),
    "next": (
        min_(col("n") + 1),
        lambda rows: min((n + 1 for n in values(rows, "n")), default=None),
    ),
}
"""Over a stream, in the order of its records."""

ROWS: Final = st.fixed_dictionaries(
    {
        "g": st.sampled_from(["x", "y"]),
        "s": st.none() | st.sampled_from(["a", "b", "c", "d", "é", ""]),
        "n": st.none() | st.integers(-5, 5),
        "b": st.none() | st.sampled_from([-(2**63), 2**63 - 1, 2**62, -1, 0, 1, 2]),
        "d": st.none() | st.integers(-40, 40).map(lambda n: n / 8),
    }
)


def results_of(named: dict[str, tuple[Expr, Expected]]) -> list[Expr]:
    return [made.alias(name) for name, (made, _) in named.items()]


def over_a_table() -> Topology:
    found = Topology("of-a-table")
    rows = found.table("rows", key="id STRING", value=COLUMNS)
    rows.group_by("g").aggregate(*results_of(OF_TABLES)).to("results")
    return found


def over_a_stream() -> Topology:
    found = Topology("of-a-stream")
    records = found.stream("rows", key="id STRING", value=COLUMNS)
    records.group_by("g").aggregate(*results_of(OF_STREAMS)).to("results")
    return found


def agree(name: str, found: Any, wanted: Any) -> bool:
    """Return True if the result is the expected one; sums of DOUBLEs and percentiles are compared approximately."""
    if name == "ranks":
        return all(near(one, other, 0.0101) for one, other in zip(found, wanted, strict=True))
    if name in {"spread", "deviation"}:
        return near(found, wanted, 1e-6, 1e-6)
    if name == "related":
        # What does not vary any more may keep the rounding of what was taken back.
        return wanted is None or near(found, wanted, 1e-6, 1e-6)
    return bool(found == wanted)


def near(found: float | None, wanted: float | None, relative: float, absolute: float = 0) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return math.isclose(found, wanted, rel_tol=relative, abs_tol=absolute)
