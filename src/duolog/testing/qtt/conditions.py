"""Checks the conditions after all queries of a case: its streams, tables and topics.

Source: ksqlDB's own runner, as described next to the cases: lists are checked as subsets.
"""

import re
from typing import Final

from duolog.ksql.catalog.catalog import Catalog, SourceInfo, SqlColumn, SqlFormat
from duolog.ksql.catalog.format_support import Part, features_of
from duolog.ksql.catalog.schemas import LANGUAGES
from duolog.ksql.session import parse
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.types import type_from
from duolog.testing.qtt.cases import Case, JsonObject
from duolog.testing.qtt.topic_schemas import TopicSchemas

DEFAULT_PARTITIONS: Final = 4
"""The partitions of a topic that is only declared by a statement."""
_INTERNAL: Final = ("-repartition", "-changelog")


class Mismatch(Exception):
    """The result differs from the expected one."""


def declared_partitions(case: Case) -> dict[str, int]:
    """Return the number of partitions of a case's topics before its first statement."""
    return {
        topic["name"]: int(topic.get("partitions", 1))
        for topic in case.spec.get("topics") or ()
        if isinstance(topic, dict)
    }


def ensure_conditions(case: Case, catalog: Catalog, schemas: TopicSchemas) -> None:
    """Compare the catalog, and the schemas of topics, with the expectations of a case.

    Raises:
        Mismatch: they differ.
    """
    post = case.spec.get("post") or {}
    for wanted in post.get("sources") or ():
        _ensure_source(wanted, catalog)
    topics = post.get("topics") or {}
    if topics.get("blacklist"):
        _ensure_none(topics["blacklist"], catalog)
    for wanted in topics.get("topics") or ():
        if not wanted["name"].endswith(_INTERNAL):
            _ensure_topic(wanted, catalog)
            _ensure_schemas(wanted, schemas)


def skipped_topics(case: Case) -> list[str]:
    """Return the expected topics inside queries, which do not exist here."""
    wanted = ((case.spec.get("post") or {}).get("topics") or {}).get("topics") or ()
    return [topic["name"] for topic in wanted if topic["name"].endswith(_INTERNAL)]


def _ensure_source(wanted: JsonObject, catalog: Catalog) -> None:
    name = wanted["name"]
    source = catalog.sources.get(name)
    if source is None:
        raise Mismatch(f"post: there is no {wanted['type']} {name}")
    _ensure(f"{name}: kind", source.kind, wanted["type"].upper())
    if wanted.get("schema"):
        _ensure_columns(name, source, wanted["schema"], catalog)
    _ensure_format(name, "Key", source, wanted.get("keyFormat"))
    if wanted.get("valueFormat"):
        given = wanted["valueFormat"]
        _ensure_format(
            name, "Value", source, {"format": given} if isinstance(given, str) else given
        )
    if wanted.get("keyFeatures") is not None:
        found = features_of("Key", source.key_format, source.key)
        _ensure(f"{name}: key features", sorted(found), sorted(wanted["keyFeatures"]))
    if wanted.get("valueFeatures") is not None:
        found = features_of("Value", source.value_format, source.value)
        _ensure(f"{name}: value features", sorted(found), sorted(wanted["valueFeatures"]))
    if wanted.get("isSource") is not None:
        _ensure(f"{name}: read-only", source.read_only, wanted["isSource"])


def _ensure_columns(name: str, source: SourceInfo, schema: str, catalog: Catalog) -> None:
    """Compare columns; keys come first, regardless of their position in the text."""
    (node,) = parse(f"CREATE STREAM x ({schema});")
    assert isinstance(node, nodes.CreateSource)
    wanted = [
        SqlColumn(
            one.this.name,
            type_from(one.args["kind"], catalog.types),
            "KEY" if str(one.args.get("role") or "").endswith("KEY") else "VALUE",
        )
        for one in node.args["elements"]
    ]
    found = [SqlColumn(c.name, c.type, c.role) for c in (*source.key, *source.value)]
    ordered = sorted(wanted, key=lambda column: column.role)
    _ensure(f"{name}: columns", [str(c) for c in found], [str(c) for c in ordered])


def _ensure_format(name: str, part: Part, source: SourceInfo, wanted: JsonObject | None) -> None:
    if wanted is None:
        return
    of: SqlFormat = source.key_format if part == "Key" else source.value_format
    _ensure(f"{name}: {part.lower()} format", of.name, wanted["format"])
    if part == "Key":
        kind = source.window.kind if source.window else None
        window = wanted.get("windowInfo") or {}
        wanted_kind = wanted.get("windowType") or window.get("type")
        _ensure(f"{name}: window", kind, wanted_kind)
        size = wanted.get("windowSize")
        if size is not None and source.window is not None:
            _ensure(f"{name}: size of windows", source.window.size_ms, int(size))


def _ensure_topic(wanted: JsonObject, catalog: Catalog) -> None:
    name = wanted["name"]
    source = next((one for one in catalog.sources.values() if one.topic == name), None)
    if source is None:
        raise Mismatch(f"post: there is no topic {name}")
    _ensure_format(f"topic {name}", "Key", source, wanted.get("keyFormat"))
    _ensure_format(f"topic {name}", "Value", source, wanted.get("valueFormat"))
    if wanted.get("partitions") is not None:
        found = catalog.partitions.get(name, DEFAULT_PARTITIONS)
        _ensure(f"topic {name}: partitions", found, int(wanted["partitions"]))


def _ensure_schemas(wanted: JsonObject, schemas: TopicSchemas) -> None:
    for part in ("key", "value"):
        given, schema = wanted.get(f"{part}Format"), wanted.get(f"{part}Schema")
        name = given["format"] if isinstance(given, dict) else given
        if name in LANGUAGES and schema is not None:
            found, expected = schemas.compared(f"{wanted['name']}-{part}", schema, name)
            _ensure(f"topic {wanted['name']}: {part} schema", found, expected)


def _ensure_none(pattern: str, catalog: Catalog) -> None:
    found = [one.topic for one in catalog.sources.values() if re.fullmatch(pattern, one.topic)]
    if found:
        raise Mismatch(f"post: there is a topic {found[0]}, which matches {pattern}")


def _ensure(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise Mismatch(f"post: {what}: {found!r}, expected {wanted!r}")
