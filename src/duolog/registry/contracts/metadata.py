"""Metadata of a version: tags of paths, properties, and which properties are sensitive.

Source: Confluent `Metadata`, whose hash is a part of a schema's GUID.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self

from duolog.registry.contracts.ordering import sorted_by_name, sorted_texts
from duolog.registry.fields import Fields, as_text, mapping, texts, texts_by_name
from duolog.registry.json_text import Json

CONFLUENT_VERSION: Final = "confluent:version"
RESERVED_FIELDS: Final = "confluent:reserved"


@dataclass(frozen=True, slots=True)
class Metadata:
    """Metadata, with all its names in Java's order.

    Attributes:
        tags: the tags by a path in the schema.
        properties: texts by name.
        sensitive: names of properties that hold a secret.
    """

    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    sensitive: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, fields: Fields) -> Self:
        """Read metadata of a request or stored value.

        Raises:
            FieldError: a field has another type.
        """
        found = mapping(fields, "tags") or {}
        tags = {as_text(path, "tags"): sorted_texts(texts(found, path)) for path in found}
        return cls(
            tags=sorted_by_name(tags),
            properties=sorted_by_name(texts_by_name(fields, "properties")),
            sensitive=sorted_texts(texts(fields, "sensitive")),
        )

    def to_json(self) -> dict[str, Json]:
        """Return the JSON form, without what is empty."""
        form: dict[str, Json] = {
            "tags": self.tags,
            "properties": self.properties,
            "sensitive": self.sensitive,
        }
        return {name: value for name, value in form.items() if value}

    def hashed(self) -> Iterator[bytes]:
        """Yield what the metadata adds to the hash of a schema."""
        for path, tags in self.tags.items():
            yield path.encode()
            yield from (tag.encode() for tag in tags)
        for name, value in self.properties.items():
            yield name.encode()
            yield value.encode()
        yield from (name.encode() for name in self.sensitive)

    @property
    def version(self) -> str | None:
        """The property `confluent:version`, which names the version that the schema became."""
        return self.properties.get(CONFLUENT_VERSION)

    @property
    def version_number(self) -> int | None:
        """`version` as a number; None if it is not one."""
        text = self.version or ""
        return int(text) if re.fullmatch(r"[+-]?[0-9]{1,10}", text) else None

    @property
    def reserved_fields(self) -> frozenset[str]:
        """Names that no top-level field of the schema may have."""
        names = self.properties.get(RESERVED_FIELDS, "").split(",")
        return frozenset(name.strip() for name in names if name.strip())

    def with_version(self, version: int) -> "Metadata":
        """Return the metadata with the property `confluent:version`."""
        properties = {**self.properties, CONFLUENT_VERSION: str(version)}
        return replace(self, properties=sorted_by_name(properties))

    def without_version(self) -> "Metadata":
        """Return the metadata without the property `confluent:version`."""
        properties = dict(self.properties)
        properties.pop(CONFLUENT_VERSION, None)
        return replace(self, properties=properties)


def merged(old: Metadata | None, new: Metadata | None) -> Metadata | None:
    """Return both, with the values of `new` where both have one."""
    if old is None or new is None:
        return new if old is None else old
    return Metadata(
        tags=sorted_by_name({**old.tags, **new.tags}),
        properties=sorted_by_name({**old.properties, **new.properties}),
        sensitive=sorted_texts((*old.sensitive, *new.sensitive)),
    )
