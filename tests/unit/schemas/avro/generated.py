"""Random Avro schemas: most of them valid, some broken in one place, and pairs of relatives.

The texts use what the language has: names with and without namespaces, names before their
definitions, equal definitions, aliases, docs, orders, defaults of all types, logical types, unknown
attributes, and values of wrong kinds. The same seed makes the same schemas.
"""

import copy
import json
import random
from typing import Any, Final

Json = Any  # the parts of schemas that a generator takes apart

_PRIMITIVES: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_NAMES: Final = ("A", "B", "C", "Row", "Key", "order_line", "record", "X1")
_SPACES: Final = ("a", "a.b", "com.example", "")
_FIELDS: Final = ("f", "g", "h", "id", "name", "value", "next", "type")
_SYMBOLS: Final = ("ON", "OFF", "UNKNOWN", "Z", "a1", "B2", "_c")
_LOGICAL: Final = (
    ("date", "int"), ("time-millis", "int"), ("time-micros", "long"), ("timestamp-millis", "long"),
    ("timestamp-micros", "long"), ("timestamp-nanos", "long"), ("local-timestamp-millis", "long"),
    ("uuid", "string"), ("decimal", "bytes"), ("big-decimal", "bytes"), ("of-a-company", "int"),
)  # fmt: skip
_TEXTS: Final = ("", "text", 'a "quote"', "tab\t, line\n", "\u00e9\u4e2d\U0001f600", "\x01\x1f\x7f/\\", "\u2028")  # fmt: skip
_NUMBERS: Final = (0, 1, -7, 2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1, 10**20, 0.5, 1.0, 1e7, 1.5e-5, 5e-4, 0.001, 1.25e21, 123456.789, -2.0)  # fmt: skip
_WRONG: Final[tuple[Json, ...]] = (None, True, 5, 1.5, "", "x.y", "not a name", "9", [], {}, ["int", "int"], {"type": 1})  # fmt: skip


class Generator:
    """Makes schemas from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - tests can be repeated
        self._known: list[tuple[str, str]] = []  # the simple and the full names defined so far
        self._left = 0

    def schema(self, *, after_another: bool = False) -> Json:
        """Return a schema of up to some dozen types; it may use those of the one before."""
        if not after_another:
            self._known = []
        self._left = self._random.choice((3, 8, 20, 40))
        if self._one_in(3):
            return self._type(None, 0)
        return self._record(None, 0)

    def broken(self, schema: Json) -> Json:
        """Return a copy with one part removed, doubled or of another kind."""
        schema = copy.deepcopy(schema)
        parts = [part for part in _walk(schema) if part]
        if not parts:
            return self._random.choice(_WRONG)
        part = self._random.choice(parts)
        where = self._random.choice(list(part) if isinstance(part, dict) else range(len(part)))
        match self._random.randrange(4):
            case 0:
                del part[where]
            case 1:
                part[where] = self._random.choice(_WRONG)
            case 2 if isinstance(part, list):
                part.append(copy.deepcopy(part[where]))
            case 2:
                part["name"] = self._random.choice(("a..b", ".A", "A.", "int", "\u00c4", "a-b", "x.int", "\u0661a"))  # fmt: skip
            case _:
                other = self._random.choice(parts)
                part[where] = copy.deepcopy(other)
        return schema

    def evolved(self, schema: Json) -> Json:
        """Return a copy with some of the changes that people make to a schema."""
        schema = copy.deepcopy(schema)
        for _ in range(self._random.choice((1, 1, 2, 4))):
            schema = self._evolve(schema)
        return schema

    def _evolve(self, schema: Json) -> Json:
        records = [part for part in _walk(schema) if _is_record(part)]
        if not records or self._one_in(6):
            return self._changed_type(schema)
        record = self._random.choice(records)
        fields = record["fields"]
        match self._random.randrange(8):
            case 0:
                name = f"new{self._random.randrange(20)}"
                if all(field["name"] != name for field in fields):
                    field: dict[str, Json] = {
                        "name": name,
                        "type": self._random.choice(_PRIMITIVES),
                    }
                    if self._one_in(2):
                        field["default"] = self._value(field["type"])
                    fields.insert(self._random.randrange(len(fields) + 1), field)
            case 1 if fields:
                fields.pop(self._random.randrange(len(fields)))
            case 2 if fields:
                field = self._random.choice(fields)
                old, field["name"] = field["name"], f"renamed{self._random.randrange(20)}"
                if self._one_in(2):
                    field["aliases"] = [*field.get("aliases", []), old]
            case 3:
                self._rename(record)
            case 4 if fields:
                self._random.choice(fields).pop("default", None)
            case 5 if fields:
                field = self._random.choice(fields)
                field["type"] = self._changed_type(field["type"])
            case 6:
                self._random.shuffle(fields)
            case _:
                self._change_named(schema)
        return schema

    def _rename(self, node: Json) -> None:
        old = node["name"]
        node["name"] = self._random.choice(("Renamed", "x.Renamed", "y.A"))
        if self._one_in(2):
            node["aliases"] = [*node.get("aliases", []), old]

    def _change_named(self, schema: Json) -> None:
        named = [
            part
            for part in _walk(schema)
            if isinstance(part, dict) and part.get("type") in ("enum", "fixed") and "name" in part
        ]
        if not named:
            return
        node = self._random.choice(named)
        if self._one_in(4):
            self._rename(node)
        elif node["type"] == "fixed":
            node["size"] = self._random.choice((1, 12, 16))
        else:
            node["symbols"] = self._symbols()
            node.pop("default", None)
            if node["symbols"] and self._one_in(2):
                node["default"] = self._random.choice(node["symbols"])

    def _changed_type(self, node: Json) -> Json:
        match self._random.randrange(5):
            case 0 if not isinstance(node, list):
                return ["null", node] if node != "null" else [node]
            case 1 if isinstance(node, list) and node:
                return self._random.choice(node)
            case 2 if isinstance(node, list):
                return [each for each in node if not self._one_in(3)]
            case 3:
                return {"type": "array", "items": node}
            case _:
                return self._random.choice(_PRIMITIVES)

    def _one_in(self, count: int) -> bool:
        return self._random.randrange(count) == 0

    def _type(self, space: str | None, depth: int) -> Json:  # noqa: PLR0911 - a table of cases
        self._left -= 1
        if self._left < 0 or depth > 6:
            return self._random.choice(_PRIMITIVES)
        match self._random.randrange(12):
            case 0 | 1:
                return self._record(space, depth)
            case 2:
                return self._enum(space)
            case 3:
                return self._fixed(space)
            case 4:
                return self._with_props({"type": "array", "items": self._type(space, depth + 1)})
            case 5:
                return self._with_props({"type": "map", "values": self._type(space, depth + 1)})
            case 6 | 7:
                return self._union(space, depth)
            case 8:
                return self._logical()
            case 9 if self._known:
                return self._reference()
            case 10 if self._one_in(2):
                return self._with_props({"type": self._random.choice(_PRIMITIVES)})
            case _:
                return self._random.choice(_PRIMITIVES)

    def _reference(self) -> str:
        simple, full = self._random.choice(self._known)
        return full if self._one_in(2) else simple

    def _record(self, space: str | None, depth: int) -> Json:
        node, own = self._named("record" if not self._one_in(15) else "error", space)
        names = self._random.sample(_FIELDS, self._random.randrange(5))
        node["fields"] = [self._field(name, own, depth) for name in names]
        return self._with_props(self._shuffled(node))

    def _field(self, name: str, space: str | None, depth: int) -> Json:
        node: dict[str, Json] = {"name": name, "type": self._type(space, depth + 1)}
        if self._one_in(3) or node["type"] == ["null"]:
            node["default"] = self._value(node["type"])
            if isinstance(node["default"], float) and self._one_in(4):
                node["default"] = self._random.choice(("1.5", "NaN", "-Infinity", "1e3", "2f"))
        elif self._one_in(40):
            node["default"] = self._random.choice((*_WRONG, *_TEXTS))
        if self._one_in(8):
            node["doc"] = self._random.choice(_TEXTS)
        if self._one_in(12):
            node["order"] = self._random.choice(("ascending", "descending", "ignore", "Ignore"))
        if self._one_in(10):
            node["aliases"] = self._random.sample(("old", "f", "g", "x.y", ""), 2)
        return self._with_props(self._shuffled(node))

    def _enum(self, space: str | None) -> Json:
        node, _ = self._named("enum", space)
        node["symbols"] = self._symbols()
        if node["symbols"] and self._one_in(3):
            node["default"] = self._random.choice(node["symbols"])
        return self._with_props(node)

    def _symbols(self) -> list[str]:
        return self._random.sample(_SYMBOLS, self._random.randrange(5))

    def _fixed(self, space: str | None) -> Json:
        node, _ = self._named("fixed", space)
        node["size"] = self._random.choice((0, 1, 12, 16))
        if self._one_in(3):
            node["logicalType"] = self._random.choice(("decimal", "uuid", "duration"))
            node["precision"] = self._random.choice((1, 2, 28, 37, 38))
        return self._with_props(node)

    def _union(self, space: str | None, depth: int) -> Json:
        branches: dict[str, Json] = {}
        for _ in range(self._random.randrange(5)):
            branch = self._type(space, depth + 1)
            if not isinstance(branch, list):
                branches.setdefault(_union_key(branch), branch)
        if self._one_in(2):
            branches.setdefault("null", "null")
        order = list(branches.values())
        if self._one_in(2):
            order.sort(key=lambda branch: branch != "null")
        return order

    def _logical(self) -> Json:
        logical, base = self._random.choice(_LOGICAL)
        node: dict[str, Json] = {
            "type": base if not self._one_in(6) else "long",
            "logicalType": logical,
        }
        if logical == "decimal":
            node["precision"] = self._random.choice((1, 9, 38, 0, "5", 2.0))
            if self._one_in(2):
                node["scale"] = self._random.choice((0, 2, 9, -1))
        return self._with_props(node)

    def _named(self, kind: str, space: str | None) -> tuple[dict[str, Json], str | None]:
        simple = self._random.choice(_NAMES)
        if not self._one_in(12):
            simple += str(len(self._known))
        node: dict[str, Json] = {"type": kind, "name": simple}
        own = space
        if self._one_in(3):
            own = node["namespace"] = self._random.choice(_SPACES)
        elif self._one_in(6):
            own = self._random.choice(_SPACES[:-1])
            node["name"] = f"{own}.{simple}"
            if self._one_in(3):
                node["namespace"] = "not.this"
        own = own or None
        self._known.append((simple, f"{own}.{simple}" if own else simple))
        if self._one_in(5):
            node["doc"] = self._random.choice(_TEXTS)
        if self._one_in(6):
            aliases = ("Old", "a.Old", "x.y.Older", "C", "record", ".A", "Old")
            node["aliases"] = self._random.sample(aliases, 2)
        return node, own

    def _with_props(self, node: Json) -> Json:
        if self._one_in(8):
            key = self._random.choice(("owner", "x", "y", "namespace2", "avro.java.string"))
            node.setdefault(key, self._anything(0))
        if self._one_in(30) and node["type"] == "array":
            node["default"] = self._anything(0)  # an attribute like any other: it is not a field's
        return node

    def _shuffled(self, node: dict[str, Json]) -> dict[str, Json]:
        items = list(node.items())
        if self._one_in(3):
            self._random.shuffle(items)
        return dict(items)

    def _anything(self, depth: int) -> Json:
        match self._random.randrange(6 if depth < 3 else 4):
            case 0:
                return self._random.choice((None, True, False))
            case 1:
                return self._random.choice(_TEXTS)
            case 2 | 3:
                return self._random.choice(_NUMBERS)
            case 4:
                return [self._anything(depth + 1) for _ in range(self._random.randrange(3))]
            case _:
                keys = self._random.sample(("b", "a", "\u00e9", "k"), self._random.randrange(3))
                return {key: self._anything(depth + 1) for key in keys}

    def _value(self, node: Json) -> Json:  # noqa: PLR0911 - a table of cases
        """Return a value of a type, if its text shows it all."""
        if isinstance(node, list):
            return self._value(self._random.choice(node)) if node else None
        kind = node["type"] if isinstance(node, dict) else node
        match kind:
            case "boolean":
                return self._one_in(2)
            case "int":
                return self._random.choice((0, -1, 2**31 - 1, 2**31))
            case "long":
                return self._random.choice((0, 2**40, -(2**63), 2**63))
            case "float" | "double":
                return self._random.choice((0.0, 1, 0.1, -1.5e10, 1e-7, 3.4e38, 100))
            case "string" | "bytes" | "fixed":
                return self._random.choice(_TEXTS)
            case "enum":
                return self._random.choice((*node["symbols"], "ELSE"))
            case "array":
                return [self._value(node["items"]) for _ in range(self._random.randrange(3))]
            case "map":
                return {"k": self._value(node["values"])} if self._one_in(2) else {}
            case "record" | "error" if "fields" in node:
                return {
                    field["name"]: self._value(field["type"])
                    for field in node["fields"]
                    if "default" not in field or self._one_in(2)
                }
            case _:
                return None


def text_of(schema: Json, seed: int) -> str:
    """Return a schema as text; the seed chooses its layout."""
    layout = random.Random(seed)  # noqa: S311 - tests can be repeated
    if layout.randrange(4) == 0:
        return f"/* generated */ {json.dumps(schema, indent=1)}"
    return json.dumps(schema, ensure_ascii=layout.randrange(2) == 0)


def _walk(node: Json) -> list[Json]:
    found = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict | list):
            found.append(part)
            waiting += part.values() if isinstance(part, dict) else part
    return found


def _is_record(part: Json) -> bool:
    return isinstance(part, dict) and part.get("type") in ("record", "error") and "fields" in part


def _union_key(branch: Json) -> str:
    if isinstance(branch, str):
        return branch
    return f"{branch['type']} {branch.get('name', '')}".strip()
