"""How two shapes of an application differ, in a user's words.

A shape is what `store_layouts` makes of a spec. One sentence about the first difference is enough:
the others mostly follow from it.
"""

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any, Final

Json = dict[str, Any]

MAY_CHANGE: Final = (
    "Filters, projections and joins in front of an aggregate over a stream may change, and results, "
    "sinks and settings."
)
_NOTHING: Final = "nothing"


def first_difference(pinned: Json, now: Json) -> str:
    """Say where two shapes differ first, or return an empty text.

    Example:
        >>> first_difference({"tasks": 2, "stores": {}}, {"tasks": 3, "stores": {}})
        'The number of tasks was 2 and is 3.'
    """
    return next(_differences(pinned, now), "")


def _differences(pinned: Json, now: Json) -> Iterator[str]:
    wholes = {"tasks": "The number of tasks", "sources": "The source topics, in their order,"}
    for part, called in wholes.items():
        if pinned.get(part) != now.get(part):
            yield _was_and_is(called, _text(pinned.get(part)), _text(now.get(part)))
    old, new = pinned["stores"], now["stores"]
    for store in old:
        if store not in new:
            added = ", ".join(f'"{name}"' for name in new if name not in old) or "none"
            yield f'Store "{store}" is gone; new are: {added}.'
        else:
            yield from _store_differences(store, old[store], new[store])
    for store in new:
        if store not in old:
            yield f'Store "{store}" is new.'
    if pinned.get("levels") != now.get("levels"):
        yield _was_and_is(
            "The number of levels", _text(pinned.get("levels")), _text(now.get("levels"))
        )
    if _without_names(pinned) != _without_names(now):
        yield "Its stores are laid out in another way."


def _without_names(shape: Json) -> Json:
    stores = {store: layout | {"names": []} for store, layout in shape["stores"].items()}
    return shape | {"stores": stores}


def _store_differences(store: str, old: Json, new: Json) -> Iterator[str]:
    for part, explain in _EXPLAIN.items():
        if old.get(part) != new.get(part):
            yield f'Store "{store}": {explain(old, new, part)}'


def _explain_whole(called: str) -> Callable[[Json, Json, str], str]:
    def explain(old: Json, new: Json, part: str) -> str:
        return _was_and_is(called, _text(old.get(part)), _text(new.get(part)))

    return explain


def _explain_row(old: Json, new: Json, part: str) -> str:
    """Name the first place that differs: by accumulators' names where these differ too."""
    if old["names"] != new["names"]:
        return _was_and_is("what it keeps", _text(old["names"]), _text(new["names"]))
    for place, (was, now) in enumerate(zip_longest(old[part], new[part], fillvalue=_NOTHING)):
        if was != now:
            name = new["names"][place] if place < len(new["names"]) else f"column {place + 1}"
            return _was_and_is(f"{name}, kept in place {place + 1},", was, now)
    raise AssertionError("nothing differs")


def _explain_filters(old: Json, new: Json, part: str) -> str:
    if part not in old or part not in new:
        return "another store now keeps the same: name each with materialized(...)."
    text = _was_and_is("what is filtered in front of it", _text(old[part]), _text(new[part]))
    return f"{text} It would take back rows that it never added, or be taken for another store."


_EXPLAIN: Final[dict[str, Callable[[Json, Json, str], str]]] = {
    "key": _explain_whole("its key"),
    "row": _explain_row,
    "filters": _explain_filters,
    "task": _explain_whole("what chooses the task of a key"),
    "place": _explain_whole("its place"),
}


def _was_and_is(what: str, old: str, new: str) -> str:
    return f"{what} was {old} and is {new}."


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or _NOTHING
    return str(value)
