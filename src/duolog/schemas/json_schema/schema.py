"""A parsed JSON Schema."""

from collections.abc import Mapping
from functools import cached_property
from typing import Final

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.json_schema.checks import ensure_valid
from duolog.schemas.json_schema.compatibility.comparison import differences
from duolog.schemas.json_schema.documents import Documents, RawSchema
from duolog.schemas.json_schema.json_text import read, write
from duolog.schemas.json_schema.shapes import Shapes
from duolog.schemas.json_schema.validation import Problem, Validator
from duolog.schemas.schema import Incompatibility, Language, Policy

DESCRIPTIONS_CHARACTERS_MAX: Final = 1_000_000


class JsonSchema:
    """A JSON Schema of draft 4, 6, 7, 2019-09 or 2020-12.

    Attributes:
        documents: the schema and everything that it refers to.
    """

    language = Language.JSON

    def __init__(self, root: RawSchema, references: Mapping[str, str], *, strict: bool) -> None:
        self._root = root
        self.canonical = write(root)
        self.documents = Documents(root, references)
        if strict:
            ensure_valid(self.documents)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JsonSchema) and self.canonical == other.canonical

    def __hash__(self) -> int:
        return hash(self.canonical)

    def __repr__(self) -> str:
        return f"JsonSchema({self.canonical[:100]})"

    @property
    def name(self) -> str | None:
        title = self._root.get("title") if isinstance(self._root, dict) else None
        return title if isinstance(title, str) else None

    def normalized(self) -> str:
        """Return the canonical text with sorted keys."""
        return write(self._root, ordered=True)

    def formatted(self, form: str) -> str:
        """Return the canonical text, which is the only form."""
        return self.canonical

    def incompatibilities(
        self, writer: "JsonSchema", policy: Policy = Policy.STRICT
    ) -> tuple[Incompatibility, ...]:
        """Return why this schema cannot read what `writer` wrote; empty if it can.

        Raises:
            InvalidSchemaError: the comparison takes too many steps.
        """
        found = differences(writer.shapes.root(), self.shapes.root(), policy)
        # Long names in many differences would make an answer of many megabytes.
        described, characters = [], 0
        for difference in found:
            described.append(difference.described())
            characters += len(described[-1].description)
            if characters > DESCRIPTIONS_CHARACTERS_MAX:
                break
        return tuple(described)

    def problem(self, value: object, *, formats: bool = False) -> Problem | None:
        """Return the first reason why a JSON value is invalid; None if it is valid.

        Args:
            value: None, bool, int, float, Decimal, str, or a list or dict of these.
            formats: check `format`, too, which otherwise only describes a value.

        Raises:
            InvalidSchemaError: the validation takes too many steps.
        """
        return self._validator.problem(value, formats=formats)

    @cached_property
    def _validator(self) -> Validator:
        return Validator(self.documents)

    @cached_property
    def shapes(self) -> Shapes:
        """The form in which it is compared."""
        return Shapes(self.documents)


def parse(text: str, references: Mapping[str, str], *, strict: bool = True) -> JsonSchema:
    """Parse a JSON Schema.

    Args:
        text: the schema.
        references: the texts of the schemas that it refers to, by the name of the reference.
        strict: also check it against its meta-schema, and that each `$ref` leads to a schema. A
            `$ref` of an unchecked schema that leads nowhere is an error when it is followed.

    Raises:
        InvalidSchemaError: the text is not a JSON Schema, exceeds a limit, or refers to what is
            neither in `references` nor in the text.
    """
    root = read(text)
    if not isinstance(root, bool | dict):
        raise InvalidSchemaError("a JSON Schema must be an object or a boolean")
    return JsonSchema(root, references, strict=strict)
