"""The schema that a keyword is in."""

from dataclasses import dataclass

from duolog.schemas.json_schema.documents import Documents, Node
from duolog.schemas.json_schema.json_text import JsonValue


@dataclass(frozen=True, slots=True)
class Place:
    """A schema that is an object, and the documents that it refers to."""

    documents: Documents
    node: Node

    @property
    def raw(self) -> dict[str, JsonValue]:
        assert isinstance(self.node.raw, dict)
        return self.node.raw

    @property
    def number(self) -> int:
        """The number of its draft: 4, 6, 7, 8 for 2019-09 and 9 for 2020-12."""
        return self.node.draft.number

    def schema(self, raw: JsonValue) -> Node:
        """Return a schema directly below it."""
        return self.documents.node(raw, self.node)

    def schemas(self, keyword: str) -> dict[str, Node]:
        """Return the schemas that an object in a keyword names."""
        named = self.raw.get(keyword)
        if not isinstance(named, dict):
            return {}
        return {name: self.schema(raw) for name, raw in named.items()}
