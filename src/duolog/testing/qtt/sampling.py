"""A sample of cases, equal on every machine: a share of each category, by hash of titles."""

import hashlib
from collections.abc import Iterable

from duolog.testing.qtt.cases import Case


def sample(cases: Iterable[Case], count: int) -> list[Case]:
    """Return `count` of the cases; a smaller sample is a prefix of a larger one."""
    by_category: dict[str, list[Case]] = {}
    for case in sorted(cases, key=_hash):
        by_category.setdefault(case.category, []).append(case)
    # The first of three has the same relative position in its category as the second of nine.
    placed = [
        ((rank + 0.5) / len(found), case.title, case)
        for found in by_category.values()
        for rank, case in enumerate(found)
    ]
    return [case for _, _, case in sorted(placed, key=lambda place: place[:2])[:count]]


def _hash(case: Case) -> str:
    return hashlib.sha256(case.title.encode()).hexdigest()
