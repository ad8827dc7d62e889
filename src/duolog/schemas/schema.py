"""The interface that the schema languages share: a parsed schema, its references, its errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, Self, runtime_checkable

from duolog.schemas.errors import InvalidSchemaError

__all__ = [
    "Incompatibility",
    "InvalidSchemaError",
    "Language",
    "Parse",
    "Policy",
    "Reference",
    "Schema",
    "Tagged",
]


class Language(StrEnum):
    """The language of a schema, named as in the registry's field `schemaType`."""

    AVRO = "AVRO"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"


class Policy(StrEnum):
    """The strictness of a compatibility check: the registry's field `compatibilityPolicy`.

    Only JSON Schema differs between the three: LENIENT accepts a property that is added to or
    removed from a content model which could contain other values under its name.
    """

    STRICT = "STRICT"
    LENIENT = "LENIENT"
    LOGICAL = "LOGICAL"


@dataclass(frozen=True, slots=True)
class Reference:
    """A schema in the registry that another schema refers to.

    Attributes:
        name: what the referring schema calls it: the full name of an Avro type, a `$ref` of JSON
            Schema, the path of a Protobuf import.
        subject: the subject of the schema referred to.
        version: its version in this subject.
    """

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Incompatibility:
    """One reason why a reader cannot read what a writer wrote.

    Attributes:
        kind: the registry's name of the rule, for example `READER_FIELD_MISSING_DEFAULT_VALUE`.
        description: one sentence with the path of the place in the schema. It names the two
            schemas by the marks `{reader}` and `{writer}`, because the caller knows which of them
            is the old one.
        info: what the rule says in addition; empty if it says nothing.
    """

    kind: str
    description: str
    info: str = ""

    def message(self, language: Language, *, reader: str, writer: str) -> str:
        """Return the text that a registry sends to its clients.

        Args:
            language: the language of the two schemas.
            reader: "new" if the new schema reads what the old one wrote, otherwise "old".
            writer: the other of the two words.
        """
        sentence = self.description.replace("{reader}", reader).replace("{writer}", writer)
        return _MESSAGES[language].format(kind=self.kind, sentence=sentence, info=self.info)


# Clients print these texts and some parse them: each language has its own quotes. The last quote
# of JSON is the registry's.
_MESSAGES = {
    Language.AVRO: ("{{errorType:'{kind}', description:'{sentence}', additionalInfo:'{info}'}}"),
    Language.JSON: '{{errorType:"{kind}", description:"{sentence}\'}}',
    Language.PROTOBUF: '{{errorType:"{kind}", description:"{sentence}"}}',
}


class Schema(Protocol):
    """A parsed schema. Two schemas are equal if their canonical texts are."""

    @property
    def language(self) -> Language:
        """The language that the schema is written in."""

    @property
    def canonical(self) -> str:
        """The text as a registry stores and returns it: same meaning, fixed layout."""

    @property
    def name(self) -> str | None:
        """The full name of the record, message or title; None if it has none."""

    def normalized(self) -> str:
        """Return the text in which two schemas of the same meaning are equal (`normalize=true`)."""

    def formatted(self, form: str) -> str:
        """Return the text in a form of the registry's parameter `format`; ignore an unknown form.

        Forms: "" (canonical); Avro: "resolved" (references written out); Protobuf: "serialized"
        (base64 of a FileDescriptorProto), "ignore_extensions".
        """

    def incompatibilities(
        self, writer: Self, policy: Policy = Policy.STRICT
    ) -> tuple[Incompatibility, ...]:
        """Return why this schema cannot read what `writer` wrote; empty if it can."""


@runtime_checkable
class Tagged(Protocol):
    """A schema that holds tags of its records and fields, see the registry's data contracts.

    Only Protobuf needs this. The canonical texts of the other two are JSON, in which the registry
    finds and changes tags itself. An entity is its type (`sr_record`, `sr_field`) and its path.
    """

    def field_names(self) -> frozenset[str]:
        """Return the names of the fields of the first message."""

    def tags(self) -> Mapping[tuple[str, str], tuple[str, ...]]:
        """Return the tags of each entity that has some, in order of appearance."""

    def with_tags(
        self,
        add: Mapping[tuple[str, str], tuple[str, ...]],
        remove: Mapping[tuple[str, str], tuple[str, ...]],
    ) -> str:
        """Return the canonical text with other tags.

        Raises:
            InvalidSchemaError: a path leads to no message or field.
        """


class Parse(Protocol):
    """The function `parse` of a language's package."""

    def __call__(self, text: str, references: Mapping[str, str], *, strict: bool = True) -> Schema:
        """Parse a schema.

        Args:
            text: the schema as a client sent it.
            references: the texts of all schemas that it refers to, directly or through others, by
                the name of the reference, each after those that it needs itself.
            strict: also refuse what older registries accepted, for example a default of Avro that
                is not a value of its type. Schemas that are already registered are parsed without.

        Raises:
            InvalidSchemaError: the text is not a schema of the language, is nested too deep, or
                refers to a name that is neither built in nor in `references`.
        """
