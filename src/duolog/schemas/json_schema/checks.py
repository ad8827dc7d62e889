"""Checks that a JSON text is a JSON Schema.

1. Each schema in it conforms to the meta-schema of its draft. The library `jsonschema` decides that
   on a sketch of the schema: schemas below it are left out, and one value stands for all that the
   meta-schema treats equally. So few sketches exist, each is validated once, and a document takes
   linear time whatever its nesting.
2. Each regular expression has a valid syntax.
3. Each `$ref` that can be reached leads to a schema.
4. No schema applies itself to the same value again: a validator would never return.
"""

import json
import re
from decimal import Decimal
from functools import lru_cache
from typing import Final

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.json_schema import patterns
from duolog.schemas.json_schema.documents import Documents, Node
from duolog.schemas.json_schema.drafts import DRAFTS, Draft
from duolog.schemas.json_schema.json_text import JsonValue, comparable, write

_FREE: Final = frozenset({"default", "const", "$vocabulary"})
"""Keywords whose values may be anything."""


def ensure_valid(documents: Documents) -> None:
    """Check a schema and its references.

    Raises:
        InvalidSchemaError: the text is not a JSON Schema.
    """
    checked: set[int] = set()
    _ensure_conformant(documents, checked)
    reached = _reached(documents)
    _ensure_conformant(documents, checked)  # Places that only a `$ref` declares to be schemas.
    _ensure_finite(documents, reached)


def _ensure_conformant(documents: Documents, checked: set[int]) -> None:
    for node in documents.nodes():
        if id(node) in checked:
            continue
        checked.add(id(node))
        assert isinstance(node.raw, dict)
        if not isinstance(node.raw.get("$ref", ""), str):  # Draft 4 has no rule for it.
            raise InvalidSchemaError(f"the $ref at {node.pointer} is not a string")
        sketch = json.dumps(_sketch(node.raw, node.draft), sort_keys=True, default=float)
        problem = _problem(sketch, node.draft.number)
        if problem:
            raise InvalidSchemaError(
                f"the schema at {node.pointer} is not valid in {node.draft.name}",
                detail=problem,
                hint=f"See {node.draft.uri} for what a keyword accepts.",
            )
        _ensure_expressions(node, node.raw)


def _ensure_expressions(node: Node, raw: dict[str, JsonValue]) -> None:
    expressions: list[JsonValue] = [raw["pattern"]] if "pattern" in raw else []
    if isinstance(named := raw.get("patternProperties"), dict):
        expressions += named
    for expression in expressions:
        if isinstance(expression, str):
            patterns.ensure_valid(expression, node.pointer)


@lru_cache(maxsize=4096)
def _problem(sketch: str, draft_number: int) -> str:
    draft = next(draft for draft in DRAFTS if draft.number == draft_number)
    error = next(draft.validator(draft.validator.META_SCHEMA).iter_errors(json.loads(sketch)), None)
    if error is None:
        return ""
    return f"{error.json_path}: {error.message}"[:300]


def _sketch(raw: dict[str, JsonValue], draft: Draft) -> dict[str, JsonValue]:
    """Return a small schema that conforms to the meta-schema if and only if `raw` does.

    Schemas below `raw` are taken to conform: they are checked by themselves.
    """
    return {
        keyword: _sketched(keyword, value, draft)
        for keyword, value in raw.items()
        if keyword in draft.known and keyword not in _FREE
    }


def _sketched(keyword: str, value: JsonValue, draft: Draft) -> JsonValue:
    if keyword in draft.containers:
        return _without_subschemas(keyword, value, draft)
    match keyword, value:
        case "enum", list():
            distinct = len({comparable(item) for item in value})
            sketch: JsonValue = [0] * min(len(value), 1 if distinct == len(value) else 2)
        case "examples", list():
            sketch = []
        case "type", list():
            sketch = value[:9]  # There are seven types: a longer list repeats one, or has another.
        case "type", str():
            sketch = value
        case (("$id" | "$anchor" | "$dynamicAnchor"), str()):
            sketch = _named_sketch(value)
        case _:
            sketch = _simplified(value)
    return sketch


def _named_sketch(name: str) -> str:
    """Return a name that an expression of the meta-schemas matches if it matches `name`.

    The expressions restrict the first character more than the others. The order of the others has
    no meaning to them, except that an `$id` may end with #.
    """
    kinds = re.sub("[A-Za-z]", "a", re.sub("[0-9]", "0", re.sub("[^!-~]", "~", name)))
    return kinds[:1] + "".join(sorted(set(kinds[1:-1]))) + kinds[1:][-1:]


def _without_subschemas(keyword: str, value: JsonValue, draft: Draft) -> JsonValue:
    below = [item for _, item in draft.subschemas_of(keyword, value)]
    odd = [item for item in below if not isinstance(item, dict | bool)]
    if isinstance(value, dict) and keyword in draft.named:
        sketch: dict[str, JsonValue] = {}
        if odd:
            sketch["odd"] = _simplified(odd[0])
        if any(isinstance(item, bool) for item in below):
            sketch["boolean"] = True
        if keyword == "dependencies":
            lists = [_simplified(item) for item in value.values() if isinstance(item, list)]
            distinct = {write(item): item for item in lists}
            sketch.update({f"list{place}": item for place, item in enumerate(distinct.values())})
        return sketch
    if isinstance(value, list):
        return [_simplified(odd[0])] if odd else below[:1] and [_empty(below)]
    return _simplified(value) if not isinstance(value, dict | bool) else _empty([value])


def _empty(schemas: list[JsonValue]) -> JsonValue:
    return True if any(isinstance(schema, bool) for schema in schemas) else {}


def _simplified(value: JsonValue) -> JsonValue:
    """Return one value for all that each meta-schema treats as it treats `value`."""
    match value:
        case None | bool():
            return value
        case str():
            return ""
        case int() | Decimal():
            return _number(value)
        case list():
            if all(isinstance(item, str) for item in value):
                return ["a"] * min(len(value), 1 if len(set(map(str, value))) == len(value) else 2)
            return [_simplified(next(item for item in value if not isinstance(item, str)))]
        case dict():
            simple = {write(_simplified(item)): _simplified(item) for item in value.values()}
            return {f"member{place}": item for place, item in enumerate(simple.values())}


def _number(number: int | Decimal) -> JsonValue:
    sign = (number > 0) - (number < 0)
    whole = isinstance(number, int) or number == number.to_integral_value()
    return sign if whole else Decimal("0.5") * sign


def _reached(documents: Documents) -> list[Node]:
    """Return the schemas that can apply to a value, and check that each `$ref` resolves."""
    stack, seen, reached = [documents.root], {id(documents.root.raw)}, []
    while stack:
        node = stack.pop()
        reached.append(node)
        for below in (*_targets(documents, node), *_below(documents, node)):
            if isinstance(below.raw, dict) and id(below.raw) not in seen:
                seen.add(id(below.raw))
                stack.append(below)
    return reached


def _targets(documents: Documents, node: Node) -> list[Node]:
    target = documents.target(node)
    return [] if target is None else [target]


def _below(documents: Documents, node: Node, *, in_place: bool = False) -> list[Node]:
    raw, draft = node.raw, node.draft
    if isinstance(raw, bool) or ("$ref" in raw and not draft.modern):
        return []
    return [
        documents.node(child, node)
        for keyword, value in raw.items()
        if keyword in (draft.in_place if in_place else draft.applicators)
        for _, child in draft.subschemas_of(keyword, value)
        if isinstance(child, dict)
    ]


def _ensure_finite(documents: Documents, reached: list[Node]) -> None:
    """Refuse schemas that lead back to themselves without descending into the value."""
    done: set[int] = set()
    for start in reached:
        path: set[int] = set()
        stack: list[tuple[Node, bool]] = [(start, False)]
        while stack:
            node, left = stack.pop()
            place = id(node.raw)
            if left:
                path.discard(place)
                done.add(place)
                continue
            if place in path:
                raise InvalidSchemaError(
                    f"the schema at {node.pointer} refers to itself",
                    detail="Whether a value is valid would depend on whether it is valid.",
                    hint="Put a property or an item between the schema and the reference to it.",
                )
            if place in done or isinstance(node.raw, bool):
                continue
            path.add(place)
            stack.append((node, True))
            stack += [
                (below, False)
                for below in (
                    *_targets(documents, node),
                    *_below(documents, node, in_place=True),
                )
            ]
