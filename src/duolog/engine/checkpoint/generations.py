"""The generations of an application's changelogs, as its checkpoint keeps them, and the names of its internal topics.

    "changelog": {"generation": 3, "since": 17, "generations": [[1, 40], [2, 17]],
                  "prefix": "", "topics": {"totals": "app-totals-changelog-2"}, "dropped": ["app-old-changelog"],
                  "made": ["app-totals-changelog-2"], "ids": {"app-totals-changelog-2": "…"},
                  "restored": {"offsets": "v1…", "query": "…", "number": 17, "committed_at_ms": 1}}

A generation is one start of a query on one checkpoint; its epochs are the numbers in Spark's log. `since` is the commit that it
began behind, and `generations` tells of each earlier one which commit was its last. A number is never used twice, whatever
upgrades there are and are taken back: an entry that was not committed would count as soon as another one has come so far.

`topics` names the changelog of each store. One that an upgrade has begun has a number behind its name: a store that holds something
else never writes to a topic that has entries of the one before. `dropped` are topics that nobody reads any more, once what takes their place is told to be committed.
`made` are those that a start has made or found: where one of them is missing later, entries are lost that a new one would not have.
`ids` tell them from others of the same names.
`restored` is the commit that a restore came back to which found no entries: until the next one no file of Spark's tells of it.

All is pure: JSON in, JSON out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

Json = dict[str, Any]
Generations = list[tuple[int, int]]
"""Of each generation the last epoch that was committed."""

BEFORE_ALL: Final = -1
"""The epoch of a generation that has committed nothing."""


@dataclass(frozen=True, slots=True)
class InternalTopics:
    """What the internal topics of one application are called."""

    application_id: str
    prefix: str = ""
    """What stands before the application's id, in names that a whole Kafka cluster shares."""
    topics: Mapping[str, str] = field(default_factory=dict)
    """The changelog of each store, as far as they are named."""

    @classmethod
    def of(cls, application_id: str, log: Mapping[str, Any]) -> Self:
        """Return those of a checkpoint that has this to say of its changelogs."""
        return cls(application_id, log.get("prefix", ""), log.get("topics", {}))

    def changelog(self, store: str) -> str:
        """Return the name of a store's changelog.

        Example:
            >>> InternalTopics("flights").changelog("totals")
            'flights-totals-changelog'
        """
        return self.topics.get(store) or f"{self.prefix}{self.application_id}-{store}-changelog"


def first_log(prefix: str) -> Json:
    """Return what the first start keeps."""
    return {"generation": 0, "since": BEFORE_ALL, "generations": [], "prefix": prefix}


def with_topics(log: Json, application_id: str, stores: Iterable[str]) -> Json:
    """Return `log` with a name for the changelog of each store."""
    names = InternalTopics.of(application_id, log)
    return log | {"topics": {store: names.changelog(store) for store in stores}}


def with_made(log: Json, topics: Iterable[str]) -> Json:
    """Return `log` where these topics are there."""
    return log | {"made": sorted({*log.get("made", ()), *topics})}


def with_ids(log: Json, ids: Mapping[str, str]) -> Json:
    """Return `log` where topics have these ids."""
    return log | ({"ids": log.get("ids", {}) | dict(ids)} if ids else {})


def without_dropped(log: Json) -> Json:
    """Return `log` where the topics that nobody reads any more are gone."""
    dropped = set(log.get("dropped", ()))
    made = (
        {"made": [topic for topic in log["made"] if topic not in dropped]} if "made" in log else {}
    )
    ids = {topic: of for topic, of in log.get("ids", {}).items() if topic not in dropped}
    return log | {"dropped": []} | made | ({"ids": ids} if ids else {})


def held_topics(log: Mapping[str, Any], topics: Iterable[str], before: Iterable[str]) -> list[str]:
    """Return those of `topics` that hold entries, behind a commit: only these tell what they say.

    `before` are the changelogs of the topology before an upgrade that has not come to its first commit; empty where none is
    in the way. It counts where `log` was written by a Duolog that did not keep which topics there are.
    """
    held = set(log.get("made", before))
    return [topic for topic in topics if topic in held or not ("made" in log or held)]


def closed(log: Json, last: int | None) -> Json:
    """Return `log` when its generation has ended behind the commit `last`, and no other has begun."""
    end = BEFORE_ALL if last is None else last
    generations = [(number, of) for number, of in log["generations"]]
    # Of a generation that has committed nothing no entry counts: as if it was not.
    if log["since"] != end:
        generations.append((log["generation"], end))
    return log | {"since": end, "generations": generations}


def begun(log: Json, last: int | None) -> Json:
    """Return `log` when another start begins behind the commit `last`."""
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
    """Return what a fresh checkpoint keeps that goes on behind the commit `last` of one that has kept `log`.

    Args:
        log: of the checkpoint that is gone on from.
        last: its last commit.
        now: what is kept as this is asked: the same, or that of an upgrade before, which came to nothing.
        application_id: whose they are.
        stores: those of the fresh checkpoint.
        kept: of these, the ones whose changelog goes on, with the store that it was of.
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
    """Return what is kept where an upgrade is taken back: `log` was kept before it, `now` is what it has kept."""
    ended = closed(log, last)
    number = max(log["generation"], now["generation"])
    # Where no names were kept, nobody knows which of those of now are needed.
    dropped = _dropped(now, log["topics"].values()) if "topics" in log else []
    return ended | {"generation": number, "dropped": dropped}


def _dropped(now: Json, needed: Iterable[str]) -> list[str]:
    there = {*now.get("dropped", ()), *now.get("topics", {}).values()}
    return sorted(there - set(needed))
