"""A registry for tests of the broker: it knows what a test says, and answers when a test allows it."""

from threading import Event

from duolog.schemas.languages import parse
from duolog.schemas.schema import Language, Schema
from duolog.schemas.source import RegistryAwayError, RegistryLoginError, UnknownSchemaError
from duolog.schemas.subjects import SchemaKey

_ANSWER_S = 60.0


class FakeSubjects:
    """Subjects by schema id or GUID."""

    def __init__(self, subjects: dict[SchemaKey, set[str]] | None = None) -> None:
        self.subjects: dict[SchemaKey, set[str]] = subjects or {}
        self.schemas: dict[SchemaKey, tuple[Language, str]] = {}
        self.asked: list[SchemaKey] = []
        self.away = False
        self.refused: set[SchemaKey] = set()
        self.asking = Event()
        """Set when a question has come."""
        self.answering = Event()
        """Questions wait for it."""
        self.answering.set()

    def open(self) -> "FakeSubjects":
        return self

    def subjects_of(self, key: SchemaKey) -> frozenset[str]:
        self.asked.append(key)
        self.asking.set()
        assert self.answering.wait(_ANSWER_S), "the test never allows an answer"
        if self.away:
            raise RegistryAwayError("the schema registry does not answer")
        if key in self.refused:
            raise RegistryLoginError("user 'broker' may not read this")
        return frozenset(self.subjects.get(key, ()))

    def schema_of(self, key: SchemaKey) -> Schema:
        if key not in self.schemas:
            raise UnknownSchemaError(f"there is no schema {key}")
        language, text = self.schemas[key]
        return parse(language, text, {})
