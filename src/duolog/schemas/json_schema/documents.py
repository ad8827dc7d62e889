"""The documents that a schema consists of, and where a `$ref` leads to.

    text of the schema ─┐                 Resource: a schema with a URI of its own
    texts of references ┼─► Documents ──► Node: one schema inside a resource
    meta-schemas        ┘

Nothing is ever fetched: a `$ref` leads into one of these documents or is an error.

A reference of the registry is found by its name, by its name resolved against the `$id` of the
schema, and by its own `$id`. Entries of `definitions` at the root are also found below `$defs`, as
in Confluent's registry.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urldefrag, urljoin

from jsonschema_specifications import REGISTRY as META_SCHEMAS

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.json_schema.drafts import Draft, draft_of
from duolog.schemas.json_schema.json_text import JsonValue, read

RawSchema = bool | dict[str, JsonValue]
"""A schema as JSON."""


@dataclass(eq=False, slots=True)
class Resource:
    """A schema with a URI of its own.

    Attributes:
        uri: its URI without a fragment; empty for a document without `$id`.
        root: the schema.
        draft: the draft that it is written in.
        anchors: schemas inside it by the names that they have in it.
        dynamic: the same for `$dynamicAnchor` only.
        document: the name of the reference that it is in, for messages; empty in the schema itself.
    """

    uri: str
    root: RawSchema
    draft: Draft
    anchors: dict[str, RawSchema] = field(default_factory=dict)
    dynamic: dict[str, RawSchema] = field(default_factory=dict)
    document: str = ""


@dataclass(eq=False, slots=True)
class Node:
    """One schema and its place.

    Attributes:
        raw: the schema.
        resource: the resource that it belongs to.
        parent: the schema directly above it; None at the root of a document.
        step: the way from there, for example `properties/a`.
    """

    raw: RawSchema
    resource: Resource
    parent: "Node | None" = None
    step: str = ""

    @property
    def draft(self) -> Draft:
        return self.resource.draft

    @property
    def pointer(self) -> str:
        """The place in the document, for messages."""
        steps, node = [], self
        while node.parent is not None:
            steps.append(node.step)
            node = node.parent
        return "/".join([f"{node.resource.document}#", *reversed(steps)])


class Documents:
    """A schema, the schemas that it refers to, and every schema inside them."""

    def __init__(self, root: RawSchema, references: Mapping[str, str]) -> None:
        self._resources: dict[str, Resource] = {}
        self._nodes: dict[int, Node] = {}
        self._keep: list[RawSchema] = []  # Else another object could get the same id().
        self.root = self._add(root, uri="", draft=draft_of(root))
        base = self.root.resource.uri
        for name, text in references.items():
            self._add_reference(name, text, base)

    def node(self, raw: JsonValue, parent: Node) -> Node:
        """Return the node of a schema directly below `parent`."""
        if isinstance(raw, dict):
            return self._nodes[id(raw)]
        # Anything else accepts all values: only a schema that is not checked can contain it.
        return Node(raw is not False, parent.resource, parent)

    def nodes(self) -> tuple[Node, ...]:
        """Return every schema that is known, except booleans and meta-schemas."""
        return tuple(self._nodes.values())

    def target(self, node: Node) -> Node | None:
        """Return the schema that `$ref`, `$dynamicRef` or `$recursiveRef` of `node` leads to.

        A dynamic reference leads to the anchor of the root document, if it has one by this name.

        Raises:
            InvalidSchemaError: there is no such schema.
        """
        raw = node.raw
        if isinstance(raw, bool):
            return None
        if isinstance(ref := raw.get("$ref"), str):
            return self.resolve(ref, node)
        if not node.draft.modern:
            return None
        if isinstance(ref := raw.get("$dynamicRef"), str):
            return self._dynamic_target(ref, node)
        if isinstance(raw.get("$recursiveRef"), str):
            return self._recursive_target(node)
        return None

    def resolve(self, ref: str, node: Node) -> Node:
        """Return the schema that `ref` denotes inside `node`.

        Raises:
            InvalidSchemaError: there is no such schema.
        """
        named = self._resources.get(ref)
        if named is not None:
            return self._nodes_of(named.root, named)
        document, fragment = urldefrag(ref)
        resource = self._resource(document, node.resource) if document else node.resource
        if resource is None:
            raise InvalidSchemaError(
                f'cannot resolve the $ref "{ref[:200]}"',
                detail=f"It is at {node.pointer}. Schemas are never fetched from a URL.",
                hint="Register that schema, and list it in `references` under this name.",
            )
        found = self._in_resource(unquote(fragment), resource)
        if found is None:
            raise InvalidSchemaError(
                f'cannot resolve the $ref "{ref[:200]}"',
                detail=f"It is at {node.pointer}. The document has no such schema.",
                hint="Correct the pointer, or add the schema below definitions.",
            )
        return found

    def anchored(self, resource: Resource, raw: RawSchema) -> Node:
        """Return the node of a schema that a resource holds."""
        return self._nodes_of(raw, resource)

    def _dynamic_target(self, ref: str, node: Node) -> Node:
        found = self.resolve(ref, node)
        _, name = urldefrag(ref)
        lexical = found.resource.dynamic.get(name)
        outermost = self.root.resource.dynamic.get(name)
        if lexical is not found.raw or outermost is None:
            return found
        return self._nodes_of(outermost, self.root.resource)

    def _recursive_target(self, node: Node) -> Node:
        def recursive(resource: Resource) -> bool:
            return isinstance(resource.root, dict) and resource.root.get("$recursiveAnchor") is True

        both = recursive(node.resource) and recursive(self.root.resource)
        resource = self.root.resource if both else node.resource
        return self._nodes_of(resource.root, resource)

    def _resource(self, document: str, base: Resource) -> Resource | None:
        absolute = _joined(base.uri, document)
        for uri in (absolute, document, document.removeprefix("./")):
            if uri in self._resources:
                return self._resources[uri]
        return self._meta_schema(absolute)

    def _meta_schema(self, uri: str) -> Resource | None:
        place = uri.removeprefix("http://").removeprefix("https://")
        for official in (f"http://{place}", f"https://{place}"):
            if official in META_SCHEMAS:
                document = META_SCHEMAS.contents(official)
                self._add(document, uri=official, draft=draft_of(document))
                return self._resources[official]
        return None

    def _in_resource(self, fragment: str, resource: Resource) -> Node | None:
        if not fragment:
            return self._nodes_of(resource.root, resource)
        if not fragment.startswith("/"):
            raw = resource.anchors.get(fragment)
            return None if raw is None else self._nodes_of(raw, resource)
        value: JsonValue = resource.root
        last = self._nodes_of(resource.root, resource)
        for token in fragment[1:].split("/"):
            child = _child(value, token.replace("~1", "/").replace("~0", "~"))
            if child is None:
                return None
            value = child[0]
            last = self._nodes.get(id(value), last)
        if not isinstance(value, bool | dict):
            return None
        return self._nodes_of(value, last.resource)

    def _nodes_of(self, raw: RawSchema, resource: Resource) -> Node:
        """Return the node of a schema, also in a place where no schemas are expected."""
        if isinstance(raw, bool):
            return Node(raw, resource)
        if id(raw) not in self._nodes:
            self._walk(Node(raw, resource))
        return self._nodes[id(raw)]

    def _add_reference(self, name: str, text: str, base: str) -> None:
        document = _read_reference(name, text)
        uri = name.removesuffix("#")
        # Without `$schema`, it is of the draft of the schema that refers to it.
        draft = draft_of(document, self.root.draft)
        node = self._add(document, uri=uri, draft=draft, name=name[:200])
        for alias in (name, uri, uri.removeprefix("./"), _joined(base, uri)):
            self._resources.setdefault(alias, node.resource)

    def _add(self, document: RawSchema, *, uri: str, draft: Draft, name: str = "") -> Node:
        document = _bridged(document)
        self._keep.append(document)
        resource = Resource(uri, document, draft, document=name)
        self._resources.setdefault(uri, resource)
        node = Node(document, resource)
        if isinstance(document, dict):
            self._walk(node)
            return self._nodes[id(document)]
        return node

    def _walk(self, start: Node) -> None:
        """Register the schema `start` and every schema below it."""
        stack = [start]
        while stack:
            node = stack.pop()
            raw = node.raw
            if isinstance(raw, bool) or id(raw) in self._nodes:
                continue
            node.resource = self._named(raw, node)
            self._nodes[id(raw)] = node
            for step, child in node.draft.subschemas(raw):
                if isinstance(child, dict):
                    stack.append(Node(child, node.resource, node, step))

    def _named(self, raw: dict[str, JsonValue], node: Node) -> Resource:
        """Register the names that a schema gives itself; return the resource it belongs to."""
        resource = node.resource
        draft = resource.draft
        identity = raw.get(draft.id_keyword)
        if isinstance(identity, str) and (draft.modern or "$ref" not in raw):
            document, anchor = urldefrag(identity)
            if document:
                resource = self._embedded(raw, _joined(resource.uri, document), resource)
            if anchor and not draft.modern:
                resource.anchors.setdefault(anchor, raw)
        if draft.modern:
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(name := raw.get(keyword), str):
                    resource.anchors.setdefault(name, raw)
            if isinstance(name := raw.get("$dynamicAnchor"), str):
                resource.dynamic.setdefault(name, raw)
        return resource

    def _embedded(self, raw: RawSchema, uri: str, parent: Resource) -> Resource:
        if parent.root is raw:
            parent.uri = uri if parent.uri in {"", uri} else _joined(parent.uri, uri)
            self._resources.setdefault(parent.uri, parent)
            self._resources.setdefault(uri, parent)
            return parent
        resource = Resource(uri, raw, draft_of(raw, parent.draft), document=parent.document)
        self._resources.setdefault(uri, resource)
        return resource


def _read_reference(name: str, text: str) -> RawSchema:
    try:
        document = read(text)
    except InvalidSchemaError as error:
        raise InvalidSchemaError(
            f'the reference "{name[:200]}" cannot be read: {error.message}', detail=error.detail
        ) from error
    if not isinstance(document, bool | dict):
        raise InvalidSchemaError(f'the reference "{name[:200]}" is not a JSON Schema')
    return document


def _joined(base: str, uri: str) -> str:
    try:
        return urljoin(base, uri)
    except ValueError:  # For example a bracket in the place of a host.
        return uri


def _child(value: JsonValue, token: str) -> tuple[JsonValue] | None:
    if isinstance(value, dict) and token in value:
        return (value[token],)
    # A longer index cannot be in a list, and int() would refuse it.
    if isinstance(value, list) and token.isascii() and token.isdecimal() and len(token) < 10:
        index = int(token)
        return (value[index],) if index < len(value) else None
    return None


def _bridged(document: RawSchema) -> RawSchema:
    if isinstance(document, bool):
        return document
    definitions, defs = document.get("definitions"), document.get("$defs", {})
    if not isinstance(definitions, dict) or not isinstance(defs, dict) or not definitions:
        return document
    return document | {"$defs": {**definitions, **defs}}
