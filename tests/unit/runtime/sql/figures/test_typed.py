"""Figures of other clients: only those with the right types are accepted."""

import json
from typing import Any

import pytest

from duolog.runtime.sql.figures.query_figures import QueryFigures
from duolog.runtime.sql.figures.typed import ensure_typed
from unit.runtime.sql.figures.test_published import FULL


def changed(path: str, value: object) -> QueryFigures:
    """Return figures with another value at a path of their JSON."""
    found: Any = json.loads(json.dumps(FULL.to_json()))
    *parents, last = path.split("/")
    at = found
    for name in parents:
        at = at[int(name)] if isinstance(at, list) else at[name]
    at[last] = value
    return QueryFigures.from_json(found)


def test_figures_have_their_types() -> None:
    ensure_typed(FULL)
    ensure_typed(QueryFigures("Q", 1))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("server", "\ud800"),
        ("server", 7),
        ("atMs", "late"),
        ("atMs", 10**30),
        ("restarts", True),
        ("in/records", "many"),
        ("in/recordsPerSecond", float("nan")),
        ("in/topics", {"a": {"records": None, "recordsPerSecond": 1}}),
        ("lag/recordsTrend", "sideways"),
        ("lag/partitions/0/end", [1]),
        ("errors", {"processing": "1"}),
        ("stores/0/rows", 1.5),
        ("lastResultAtMs", float("inf")),
    ],
)
def test_other_types_are_refused(path: str, value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        ensure_typed(changed(path, value))
