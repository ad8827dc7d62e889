"""Records and fields within a schema: their names, and the tags that data contracts give them.

Avro and JSON Schema hold tags in their JSON, as `"confluent:tags": ["PII"]`. The path of an entity:

    Avro          com.acme.Order                    sr_record
                  com.acme.Order.price              sr_field
    JSON Schema   object                            sr_record
                  object.price                      sr_field
                  object.lines.array.object.price   sr_field; also oneof.0., not., definitions.X.
    Protobuf      as the schema itself says, see `Tagged`

Source: Confluent `AvroSchema.inlineTaggedEntities`, `JsonSchema.inlineTaggedEntities`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from duolog.registry.errors import invalid_schema
from duolog.registry.json_text import Json, dump, load
from duolog.registry.rules.requests import Entity, EntityTags
from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.schema import Language, Schema, Tagged

Tags = Mapping[Entity, tuple[str, ...]]
Node = dict[str, Json]

RECORD: Final = "sr_record"
FIELD: Final = "sr_field"
_TAGS: Final = "confluent:tags"


def field_names(schema: Schema) -> frozenset[str]:
    """Return the names of the top-level fields."""
    if isinstance(schema, Tagged):
        return schema.field_names()
    if schema.language is Language.PROTOBUF:
        return frozenset()
    document = _document(schema.canonical)
    if not isinstance(document, dict):
        return frozenset()
    if schema.language is Language.JSON:
        properties = document.get("properties")
        return frozenset(properties) if isinstance(properties, dict) else frozenset()
    fields = document.get("fields") if document.get("type") == "record" else ()
    return frozenset(name for name, _ in _avro_fields(fields))


def tags_of(schema: Schema) -> Tags:
    """Return the tags of each entity that has some, in order of appearance."""
    if isinstance(schema, Tagged):
        return schema.tags()
    text = schema.formatted("resolved") if schema.language is Language.AVRO else schema.canonical
    found: dict[Entity, tuple[str, ...]] = {}
    for entity, node in _nodes(schema.language, _document(text)):
        tags = _node_tags(node)
        if tags:
            found.setdefault(entity, tags)
    return found


def matching_tags(schema: Schema, wanted: Sequence[str]) -> tuple[EntityTags, ...]:
    """Return the entities that have one of the wanted tags; `*` means any."""
    return tuple(
        EntityTags(path, kind, tags)
        for (kind, path), tags in tags_of(schema).items()
        if "*" in wanted or not set(wanted).isdisjoint(tags)
    )


def with_tags(schema: Schema, add: Tags, remove: Tags) -> str:
    """Return the text of the schema with other tags.

    Raises:
        RequestError: 42201, if a path leads to no entity.
    """
    if isinstance(schema, Tagged):
        try:
            return schema.with_tags(add, remove)
        except InvalidSchemaError as error:
            raise invalid_schema(error.one_line()) from error
    document = _document(schema.canonical)
    nodes: dict[Entity, Node] = {}
    for entity, node in _nodes(schema.language, document):
        nodes.setdefault(entity, node)
    for entity in dict.fromkeys((*add, *remove)):
        if entity not in nodes:
            raise invalid_schema(f"No matching path '{entity[1]}' found in the schema")
        node = nodes[entity]
        tags = dict.fromkeys((*_node_tags(node), *add.get(entity, ())))
        kept = [tag for tag in tags if tag not in remove.get(entity, ())]
        if kept:
            node[_TAGS] = kept
        else:
            node.pop(_TAGS, None)
    return dump(document)


def _document(text: str) -> Json:
    try:
        return load(text)
    except ValueError as error:
        raise invalid_schema(f"Cannot look into the schema: {error}") from error


def _node_tags(node: Node) -> tuple[str, ...]:
    tags = node.get(_TAGS)
    return tuple(str(tag) for tag in tags) if isinstance(tags, list) else ()


def _nodes(language: Language, document: Json) -> Iterator[tuple[Entity, Node]]:
    if language is Language.AVRO:
        return _avro_nodes(document)
    return _json_nodes(document) if language is Language.JSON else iter(())


def _avro_nodes(document: Json) -> Iterator[tuple[Entity, Node]]:
    todo: list[tuple[Json, str]] = [(document, "")]
    while todo:
        node, namespace = todo.pop()
        if isinstance(node, list):
            todo.extend((branch, namespace) for branch in reversed(node))
        if not isinstance(node, dict):
            continue
        if node.get("type") not in {"record", "error"}:
            todo.extend(
                (node[name], namespace) for name in ("type", "items", "values") if name in node
            )
            continue
        name, inner = _avro_name(node, namespace)
        yield (RECORD, name), node
        fields = list(_avro_fields(node.get("fields")))
        for field, child in fields:
            yield (FIELD, f"{name}.{field}"), child
        todo.extend((child.get("type"), inner) for _, child in reversed(fields))


def _avro_name(node: Node, namespace: str) -> tuple[str, str]:
    name = str(node.get("name", ""))
    if "." in name:
        return name, name.rpartition(".")[0]
    own = node.get("namespace", namespace)
    own = own if isinstance(own, str) else ""
    return (f"{own}.{name}" if own else name), own


def _avro_fields(fields: Json) -> Iterator[tuple[str, Node]]:
    if isinstance(fields, list):
        for field in fields:
            if isinstance(field, dict):
                yield str(field.get("name", "")), field


def _json_nodes(document: Json) -> Iterator[tuple[Entity, Node]]:
    todo: list[tuple[Json, str, bool]] = [(document, "", False)]
    while todo:
        node, scope, in_field = todo.pop()
        if not isinstance(node, dict):
            continue
        inner: list[tuple[Json, str, bool]] = []
        properties = node.get("properties")
        if isinstance(properties, dict) or node.get("type") == "object":
            name = f"{scope}object"
            if not in_field:
                yield (RECORD, name), node
            for key, child in (properties if isinstance(properties, dict) else {}).items():
                if isinstance(child, dict):
                    yield (FIELD, f"{name}.{key}"), child
                inner.append((child, f"{name}.{key}.", True))
            scope = f"{name}."
        inner.extend(_json_parts(node, scope))
        todo.extend(reversed(inner))


def _json_parts(node: Node, scope: str) -> Iterator[tuple[Json, str, bool]]:
    for keyword in ("allOf", "anyOf", "oneOf"):
        branches = node.get(keyword)
        if isinstance(branches, list):
            for index, branch in enumerate(branches):
                yield branch, f"{scope}{keyword.lower()}.{index}.", False
    if isinstance(node.get("items"), dict):
        yield node["items"], f"{scope}array.", False
    if "not" in node:
        yield node["not"], f"{scope}not.", False
    for keyword in ("if", "then", "else"):
        if keyword in node:
            yield node[keyword], f"{scope}conditional.{keyword}.", False
    for keyword in ("definitions", "$defs"):
        found = node.get(keyword)
        if isinstance(found, dict):
            for name, child in found.items():
                yield child, f"{scope}{keyword}.{name}.", False
