"""Describe how two shapes of an application differ, in a user's words.

`store_layouts` derives a shape from a spec. One sentence about the first difference suffices:
the other differences mostly follow from it.
"""

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Final

from duolog.engine.json_object import Json
from duolog.engine.lowering.stores.store_layouts import FOR_PEOPLE, UNPINNED

MAY_CHANGE: Final = (
    "Results, sinks and settings may change, and filters, projections and joins upstream of an "
    "aggregate over a stream."
)
_NOTHING: Final = "nothing"
_CLOSED: Final = {False: "close only when records arrive", True: "also close after an idle timeout"}


def first_difference(pinned: Json, now: Json) -> str:
    """Describe the first difference between two shapes, or return an empty text.

    Example:
        >>> first_difference({"tasks": 2, "stores": {}}, {"tasks": 3, "stores": {}})
        'The number of tasks was 2 and is 3.'
    """
    difference = next(_differences(pinned, now), "")
    if difference and UNPINNED in now:
        unpinned = now | {"stores": now[UNPINNED]}
        return difference if any(_differences(pinned, unpinned)) else ""
    return difference


def bound(shape: Json) -> Json:
    """Return the part of a shape that a checkpoint stores."""
    return {part: value for part, value in shape.items() if part != UNPINNED}


def same_texts(pinned: Json, now: Json) -> bool:
    """Return whether two shapes are equal apart from the names that people read."""
    return _without_words(pinned) == _without_words(now)


def store_difference(store: str, pinned: Json, now: Json) -> str:
    """Describe the first difference between two layouts of a store, ignoring its location.

    Without one, return an empty text.
    """
    anywhere = {"place": None}
    return next(_store_differences(store, pinned | anywhere, now | anywhere), "")


def called(store: str, layout: Json) -> str:
    """Return the name of a store in messages."""
    name: str = layout.get("called") or f'store "{store}"'
    return name


def _differences(pinned: Json, now: Json) -> Iterator[str]:
    if pinned.get("tasks") != now.get("tasks"):
        tasks = (_text(shape.get("tasks")) for shape in (pinned, now))
        yield _was_and_is("The number of tasks", *tasks)
    if pinned.get("sources") != now.get("sources"):
        yield _explain_sources(pinned.get("sources", []), now.get("sources", []))
    if pinned.get("ticks") != now.get("ticks"):
        closed = [bool(shape.get("ticks")) for shape in (pinned, now)]
        yield f"Its windows {_CLOSED[closed[0]]}, and now {_CLOSED[closed[1]]}."
    yield from _gone_and_new(pinned["stores"], now["stores"])
    for store, layout in pinned["stores"].items():
        if store in now["stores"]:
            yield from _store_differences(store, layout, now["stores"][store])
    if pinned.get("levels") != now.get("levels"):
        yield _was_and_is(
            "The number of levels", _text(pinned.get("levels")), _text(now.get("levels"))
        )
    if _without_words(pinned) != _without_words(now):
        yield "Its stores have another layout."


def _explain_sources(old: list[str], new: list[str]) -> str:
    changes = [("no longer reads", set(old) - set(new)), ("also reads", set(new) - set(old))]
    told = [
        f"{verb} topic " + ", ".join(f'"{topic}"' for topic in sorted(topics))
        for verb, topics in changes
        if topics
    ]
    if told:
        return f"It {' and '.join(told)}."
    return f"It reads its topics in another order: it was {_text(old)}, now {_text(new)}."


def _gone_and_new(old: dict[str, Json], new: dict[str, Json]) -> Iterator[str]:
    """Describe stores that are in one shape only: renamed ones first, then removed and new ones."""
    gone = {store: layout for store, layout in old.items() if store not in new}
    added = {store: layout for store, layout in new.items() if store not in old}
    for store, layout in gone.items():
        for other, like in added.items():
            if _kept(layout) == _kept(like):
                yield (
                    f'The {called(store, layout)} kept its state in store "{store}" and would now '
                    f'in "{other}". A store without a name is numbered by its place in the '
                    "topology. "
                    f"To keep the old one, write {_naming(like, store)}."
                )
    for store, layout in gone.items():
        others = ", ".join(f"the {called(*item)}" for item in added.items()) or "none"
        gone_store = f'The {called(store, layout)} was removed, with store "{store}"'
        yield f"{gone_store}; new stores: {others}."
    for store, layout in added.items():
        yield f'The {called(store, layout)} is new, with store "{store}".'


def _kept(layout: Json) -> tuple[object, ...]:
    return layout["key"], layout["row"], layout.get("names")


def _naming(layout: Json, name: str) -> str:
    """Return the code that gives a store this name."""
    is_aggregate = bool(layout.get("results"))
    return f'.materialized("{name}") after group_by' if is_aggregate else f'store="{name}"'


def _without_words(shape: Json) -> Json:
    stores = {
        store: {part: value for part, value in layout.items() if part not in FOR_PEOPLE}
        for store, layout in shape["stores"].items()
    }
    return bound(shape) | {"stores": stores}


def _store_differences(store: str, old: Json, new: Json) -> Iterator[str]:
    for part, explain in _EXPLAIN.items():
        if old.get(part) != new.get(part):
            yield f"The {called(store, new)} {explain(old, new, part)}"


def _explain_whole(what: str) -> Callable[[Json, Json, str], str]:
    def explain(old: Json, new: Json, part: str) -> str:
        return "has changed: " + _was_and_is(what, _text(old.get(part)), _text(new.get(part)))

    return explain


def _explain_row(old: Json, new: Json, part: str) -> str:
    """Describe gained and lost results; else the first column that differs."""
    if old["names"] != new["names"]:
        keeps = f"its store has {_text(old['names'])}, and would have {_text(new['names'])}."
        return f"{_results_changed(old, new)}: {keeps}"
    for place, (was, now) in enumerate(zip_longest(old[part], new[part], fillvalue=_NOTHING)):
        if was != now:
            name = new["names"][place] if place < len(new["names"]) else f"column {place + 1}"
            return "has changed: " + _was_and_is(
                f"{name}, stored at position {place + 1},", was, now
            )
    raise AssertionError("nothing differs")


def _results_changed(old: Json, new: Json) -> str:
    """Return, for example, `gained mean and lost worst`: the results whose stored state differs."""
    was, now = old.get("results", {}), new.get("results", {})
    gained = [name for name, of in now.items() if name not in was and set(of) - set(old["names"])]
    lost = [name for name, of in was.items() if name not in now and set(of) - set(new["names"])]
    other = [name for name, of in now.items() if name in was and was[name] != of]
    changes = {"gained {}": gained, "lost {}": lost, "computes {} differently": other}
    told = [verb.format(", ".join(names)) for verb, names in changes.items() if names]
    same = set(old["names"]) == set(new["names"])
    return " and ".join(told) or ("has another order" if same else "stores something else")


def _explain_filters(old: Json, new: Json, part: str) -> str:
    if part not in old or part not in new:
        ambiguous = "is ambiguous: another store now has the same content."
        return f"{ambiguous} Name each with materialized(...)."
    text = "has changed: " + _was_and_is(
        "the filter upstream of it", _text(old[part]), _text(new[part])
    )
    return f"{text} It would take back rows that it never added, or be mistaken for another store."


def _explain_expiry(old: Json, new: Json, part: str) -> str:
    was, now = ("went" if part in old else "stayed", "go" if part in new else "stay")
    return f"has changed: its rows {was} (ttl) and would {now} now, which needs another layout."


_EXPLAIN: Final[dict[str, Callable[[Json, Json, str], str]]] = {
    "key": _explain_whole("its key"),
    "windows": _explain_whole("its windows"),
    "waits": _explain_whole("how long its rows are buffered"),
    "expiry": _explain_expiry,
    "by_time": _explain_whole("how it stores rows that expire"),
    "row": _explain_row,
    "filters": _explain_filters,
    "task": _explain_whole("how the task of a key is chosen"),
    "place": _explain_whole("its location"),
}


def _was_and_is(what: str, old: str, new: str) -> str:
    return f"{what} was {old} and is {new}."


def _text(value: object) -> str:
    if value is None:
        return _NOTHING
    if isinstance(value, list):
        return ", ".join(map(str, value)) or _NOTHING
    return str(value)
