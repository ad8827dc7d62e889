"""Compare the stores of a checkpoint with those of another topology.

    keeps      same layout: its entries are kept, whatever its location and name are now
    changed    has the name of a store with other contents
    new        there was no such store
    dropped    no longer needed

A store that takes back rows depends on the stores that sent them: if it consumes changes of a
table, it is kept only if the stores that these come from are. The stores of one join are kept
together or not at all.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from duolog.engine.checkpoint.shape_difference import called, store_difference
from duolog.engine.json_object import Json
from duolog.engine.lowering.spec.spec_graph import children_of, subtopologies_of
from duolog.engine.lowering.stores.store_layouts import FOR_PEOPLE, shape_of
from duolog.engine.lowering.stores.store_names import Names
from duolog.engine.lowering.stores.stored_rows import fills_store
from duolog.engine.upgrades.renaming import are_alike, filled_by, renamed, stores_of

Becomes = Literal["keeps", "changed", "new", "dropped"]

_ANYWHERE: Final = (*FOR_PEOPLE, "place")
_UNKNOWN: Final = "(new) "
# Over a stream these take nothing back: their input may change.
_ONLY_ADD: Final = frozenset(
    {"fold", "window_fold", "session_fold", "sliding_fold", "stream_join", "wait"}
)


@dataclass(frozen=True, slots=True)
class StoreChange:
    """The change of a store, and its reason."""

    store: str
    """Its name in the new topology; for a dropped store, in the old one."""
    becomes: Becomes
    why: str
    was: str = ""
    """For a kept store: its name in the checkpoint."""
    topics: tuple[str, ...] = ()
    """The source topics whose records reach it."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The stores of a new topology compared with those of a checkpoint."""

    stores: tuple[StoreChange, ...]
    kept: dict[str, str]
    """Each kept store of Spark's state: its new name, and that in the checkpoint."""
    subtopologies: dict[str, int]
    """The sub-topology of each store in the new topology."""
    old_topics: tuple[str, ...]
    new_topics: tuple[str, ...]

    def of(self, *kinds: Becomes) -> list[StoreChange]:
        return [change for change in self.stores if change.becomes in kinds]

    @property
    def begins_empty(self) -> list[StoreChange]:
        """The stores that cannot be kept, and miss records of topics that were read before."""
        read_before = set(self.old_topics)
        return [change for change in self.of("changed", "new") if read_before & set(change.topics)]


def compare(pinned: Json, spec: Json, names: Names) -> Comparison:
    """Compare the stores of a checkpoint of the shape `pinned` with those of a spec."""
    graph = _Graph(spec)
    now = shape_of(spec, names)
    found = _same_stores(pinned, spec, names)
    lost = _lost_with_others(graph, found, set(now["stores"]))
    kept = {store: old for store, old in found.items() if store not in lost}
    changes = []
    for store, layout in now["stores"].items():
        topics = graph.topics(store)
        if store in kept:
            moved = _moved(pinned["stores"][kept[store]], layout, kept[store], store)
            changes.append(StoreChange(store, "keeps", moved, kept[store], topics))
        elif store in lost:
            changes.append(StoreChange(store, "changed", lost[store], topics=topics))
        elif store in pinned["stores"] and store not in kept.values():
            why = store_difference(store, pinned["stores"][store], layout)
            changes.append(StoreChange(store, "changed", why, topics=topics))
        else:
            told = called(store, layout)
            changes.append(StoreChange(store, "new", f"The {told} is new.", topics=topics))
    taken = {*kept.values(), *(change.store for change in changes if change.becomes == "changed")}
    for store, layout in pinned["stores"].items():
        if store not in taken:
            changes.append(
                StoreChange(store, "dropped", f"The {called(store, layout)} was removed.")
            )
    return Comparison(
        tuple(changes),
        {
            store: old
            for store, old in _with_unmatched(kept, spec["stores"]).items()
            if store in graph.filled
        },
        {store: graph.subtopologies[number] for store, number in graph.filled.items()},
        tuple(pinned.get("sources", ())),
        tuple(now["sources"]),
    )


def _same_stores(pinned: Json, spec: Json, names: Names) -> dict[str, str]:
    """Return the stores of a spec that have the layout of one in the checkpoint, with its name.

    A layout names the stores that its columns come from, so each match helps to find others. Stores
    with unchanged names come first, so that no other store is matched to them.
    """
    stores = list(shape_of(spec, names)["stores"])
    unknown = {store: _UNKNOWN + store for store in spec["stores"]}
    known: dict[str, str] = {}

    def is_same(store: str, candidate: str) -> bool:
        tried = _with_unmatched(known | {store: candidate}, spec["stores"])
        layout = shape_of(*renamed(spec, names, unknown | tried))["stores"][candidate]
        return _essence(layout) == _essence(pinned["stores"][candidate])

    for rank in (_by_name, _by_place, _by_all):
        news = True
        while news:
            news = False
            for store in stores:
                free = pinned["stores"].keys() - known.values()
                found = [
                    old
                    for old in pinned["stores"]
                    if old in free and store not in known and rank(store, old, stores)
                ]
                same = next((old for old in found if is_same(store, old)), None)
                if same is not None:
                    known[store] = same
                    news = True
    return known


def _by_name(store: str, old: str, _stores: list[str]) -> bool:
    return old == store


def _by_place(store: str, old: str, _stores: list[str]) -> bool:
    return are_alike(store, old)


def _by_all(_store: str, old: str, stores: list[str]) -> bool:
    """Match a store that was given a name, or another one."""
    return old not in stores


def _with_unmatched(known: dict[str, str], stores: Iterable[str]) -> dict[str, str]:
    """Add the names of the other stores of stream joins with `join-this` and `join-other`."""
    joins = {
        store.removesuffix(side): old.removesuffix(side)
        for store, old in known.items()
        for side in ("-this", "-other")
        if store.endswith(side) and old.endswith(side)
    }
    unmatched = {
        store: f"{joins[join]}-unmatched-{side}"
        for store in stores
        for join, found, side in (store.rpartition("-unmatched-"),)
        if found and join in joins
    }
    return unmatched | known


def _essence(layout: Json) -> Json:
    return {part: value for part, value in layout.items() if part not in _ANYWHERE}


def _moved(old: Json, new: Json, was: str, store: str) -> str:
    told = [f'It was "{was}".'] if was != store else []
    if old["place"] != new["place"]:
        told.append(f"It moves from {old['place']} to {new['place']}.")
    return " ".join(told)


def _lost_with_others(graph: "_Graph", found: dict[str, str], stores: set[str]) -> dict[str, str]:
    """Return the stores that are unchanged but cannot be kept, each with the reason."""
    lost: dict[str, str] = {}
    while True:
        gone = stores - found.keys() | lost.keys()
        more = {
            store: f'It depends on store "{needed}", which cannot be kept.'
            for store in found.keys() - lost.keys()
            for needed in sorted(graph.needed_by(store) & gone)[:1]
        }
        if not more:
            return lost
        lost |= more


class _Graph:
    """The nodes of a spec, with the inputs of each."""

    def __init__(self, spec: Json) -> None:
        self._nodes = {int(number): node for number, node in spec["nodes"].items()}
        self.subtopologies = subtopologies_of(spec)
        self._parents: dict[int, list[int]] = {}
        self._sources: dict[int, set[str]] = {}
        for number, node in self._nodes.items():
            for child in children_of(node, spec):
                self._parents.setdefault(child, []).append(number)
        for source in spec["sources"]:
            for child in source["children"]:
                self._sources.setdefault(child, set()).add(source["topic"])
        self.filled = {
            name: number for number, node in self._nodes.items() for name in filled_by(node)
        }
        self._together = self._groups()

    def topics(self, store: str) -> tuple[str, ...]:
        """Return the source topics whose records reach a store, sorted by name."""
        numbers = [n for n, node in self._nodes.items() if store in filled_by(node)]
        above = self._above(numbers, lambda _number: True)
        return tuple(sorted({topic for n in above for topic in self._sources.get(n, ())}))

    def needed_by(self, store: str) -> set[str]:
        """Return the stores without which this one cannot be kept."""
        needed = set(self._together.get(store, ()))
        for number, node in self._nodes.items():
            if store in filled_by(node) and fills_store(node) and self._takes_back(node):
                needed |= self._told_by(number)
        return needed - {store}

    @staticmethod
    def _takes_back(node: Json) -> bool:
        return bool(node["table"]) or node["kind"] not in _ONLY_ADD

    def _told_by(self, number: int) -> set[str]:
        """Return the nearest stores upstream of a node, and those that joins on the way read."""
        parents = self._parents.get(number, [])
        above = self._above(parents, lambda n: not fills_store(self._nodes[n]))
        return {name for n in above for name in stores_of(self._nodes[n])[:1]}

    def _groups(self) -> dict[str, set[str]]:
        """Return for each store the others of the same join."""
        groups: dict[str, set[str]] = {}
        for number, node in self._nodes.items():
            if node["kind"] == "stream_join":
                together = {node["store"], node["other_store"]}
            elif node["kind"] == "foreign_join":
                above = self._above(
                    [number], lambda n: self._nodes[n]["kind"] not in {"number", "foreign_table"}
                )
                kinds = ("foreign_join", "number", "subscriptions", "newest")
                of_join = [self._nodes[n] for n in above if self._nodes[n]["kind"] in kinds]
                together = {
                    node[part]
                    for node in of_join
                    for part in ("store", "newest", "results")
                    if isinstance(node.get(part), str)
                }
            else:
                continue
            for store in together:
                groups[store] = groups.get(store, set()) | together
        return groups

    def _above(self, numbers: Iterable[int], goes_on: Callable[[int], bool]) -> set[int]:
        """Return nodes and everything upstream, up to nodes for which `goes_on` is false."""
        found: set[int] = set()
        fresh = list(numbers)
        while fresh:
            number = fresh.pop()
            if number not in found:
                found.add(number)
                if goes_on(number):
                    fresh += self._parents.get(number, [])
        return found
