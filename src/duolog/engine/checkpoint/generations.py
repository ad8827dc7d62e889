"""The generations of an application's changelogs, and the names of its internal topics.

They are stored in `application.json`:

    "changelog": {"generation": 3, "since": 17, "generations": [[1, 40], [2, 17]], "prefix": "",
                  "topics": {"totals": "app-totals-changelog-2"}, "dropped": ["app-old-changelog"],
                  "made": ["app-totals-changelog-2"], "ids": {"app-totals-changelog-2": "…"},
                  "restored": {"offsets": "v1…", "query": "…", "number": 17, "committed_at_ms": 1}}

A generation is one start of a query on one checkpoint; its epochs are the numbers in Spark's log.
`since` is the commit after which it started, and `generations` lists the last commit of each
earlier one. A number is never reused, even if upgrades are reverted: otherwise an uncommitted entry
would count as soon as a new generation reaches its epoch.

`topics` names the changelog of each store. An upgrade gives new changelogs a numeric suffix, so a
store with other contents never writes to a topic with entries of its predecessor. `dropped` are
topics that are unused once their successors are committed. `made` are those that a start has
created or found: if one of them is missing later, entries are lost that a new topic would not have.
`ids` distinguish them from others of the same names. `restored` is the commit that a restore
returned to without finding entries: until the next commit, no file of Spark's contains it.

All functions are pure: JSON in, JSON out.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from duolog.engine.json_object import Json

Generations = list[tuple[int, int]]
"""Pairs of a generation and its last committed epoch."""

BEFORE_ALL: Final = -1
"""The epoch of a generation that has committed nothing."""


@dataclass(frozen=True, slots=True)
class InternalTopics:
    """Names the internal topics of one application."""

    application_id: str
    prefix: str = ""
    """A prefix of the application id, in names that a whole Kafka cluster shares."""
    topics: Mapping[str, str] = field(default_factory=dict)
    """The changelog of each store, as far as they have explicit names."""

    @classmethod
    def of(cls, application_id: str, log: Json) -> Self:
        """Return those of a checkpoint with this changelog section."""
        return cls(application_id, log.get("prefix", ""), log.get("topics", {}))

    def changelog(self, store: str) -> str:
        """Return the name of a store's changelog.

        Example:
            >>> InternalTopics("flights").changelog("totals")
            'flights-totals-changelog'
        """
        return self.topics.get(store) or f"{self.prefix}{self.application_id}-{store}-changelog"


def first_log(prefix: str) -> Json:
    """Return the changelog section of a first start."""
    return {"generation": 0, "since": BEFORE_ALL, "generations": [], "prefix": prefix}


def with_topics(log: Json, application_id: str, stores: Iterable[str]) -> Json:
    """Return `log` with a name for the changelog of each store."""
    names = InternalTopics.of(application_id, log)
    return log | {"topics": {store: names.changelog(store) for store in stores}}


def with_made(log: Json, topics: Iterable[str]) -> Json:
    """Return `log` with these topics recorded as created."""
    return log | {"made": sorted({*log.get("made", ()), *topics})}


def with_ids(log: Json, ids: Mapping[str, str]) -> Json:
    """Return `log` with the ids of topics recorded."""
    return log | ({"ids": log.get("ids", {}) | dict(ids)} if ids else {})


def without_dropped(log: Json) -> Json:
    """Return `log` without the unused topics."""
    dropped = set(log.get("dropped", ()))
    made = (
        {"made": [topic for topic in log["made"] if topic not in dropped]} if "made" in log else {}
    )
    ids = {topic: of for topic, of in log.get("ids", {}).items() if topic not in dropped}
    return log | {"dropped": []} | made | ({"ids": ids} if ids else {})


def held_topics(log: Json, topics: Iterable[str], before: Iterable[str]) -> list[str]:
    """Return those of `topics` that hold entries after a commit.

    `before` are the changelogs of the topology before an upgrade that has committed nothing yet, or
    empty. It is used only if an older Duolog wrote `log`, which did not record the created topics.
    """
    held = set(log.get("made", before))
    return [topic for topic in topics if topic in held or not ("made" in log or held)]


def closed(log: Json, last: int | None) -> Json:
    """Return `log` after its generation has ended with the commit `last`."""
    end = BEFORE_ALL if last is None else last
    generations = [(number, of) for number, of in log["generations"]]
    # A generation without commits has no valid entries, so it is left out.
    if log["since"] != end:
        generations.append((log["generation"], end))
    return log | {"since": end, "generations": generations}


def begun(log: Json, last: int | None) -> Json:
    """Return `log` for another start after the commit `last`."""
    ended = closed(log, last)
    return ended | {"generation": ended["generation"] + 1}


def upgraded(
    log: Json,
    last: int | None,
    now: Json,
    *,
    application_id: str,
    stores: Iterable[str],
    kept: Mapping[str, str],
) -> Json:
    """Return the section of a fresh checkpoint that continues after the commit `last`.

    Args:
        log: the section of the older checkpoint.
        last: its last commit.
        now: the current section: `log` itself, or that of an upgrade that committed nothing.
        application_id: the application.
        stores: the stores of the fresh checkpoint.
        kept: those of them whose changelog continues, each with its previous store name.
    """
    ended, before = closed(log, last), InternalTopics.of(application_id, log)
    number = max(log["generation"], now["generation"])
    fresh = InternalTopics(application_id, before.prefix)
    topics = {
        store: before.changelog(kept[store])
        if store in kept
        else f"{fresh.changelog(store)}-{number}"
        for store in stores
    }
    return ended | {
        "generation": number,
        "since": BEFORE_ALL,
        "topics": topics,
        "dropped": _dropped(now, topics.values()),
    }


def taken_back(log: Json, last: int | None, now: Json) -> Json:
    """Return the section after an upgrade is reverted.

    `log` is the section from before the upgrade, `now` that of the upgrade.
    """
    ended = closed(log, last)
    number = max(log["generation"], now["generation"])
    # Without recorded names it is unknown which of the current topics are still needed.
    dropped = _dropped(now, log["topics"].values()) if "topics" in log else []
    return ended | {"generation": number, "dropped": dropped}


def committed_json(generations: Generations) -> str:
    """Return the generations as the kernel's `Restore` reads them."""
    return json.dumps({"generations": generations})


def _dropped(now: Json, needed: Iterable[str]) -> list[str]:
    there = {*now.get("dropped", ()), *now.get("topics", {}).values()}
    return sorted(there - set(needed))
