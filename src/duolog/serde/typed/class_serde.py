"""`ClassSerde`: instances of a class to records with the id of their schema, and back.

A serde is used by one thread. It keeps what it has prepared for each writer's schema, so a registry
that is down stops no reader of known schemas.
"""

from collections.abc import Callable, Iterable
from typing import Final, Generic, Protocol, TypeVar, cast

from duolog.core.errors import RegistryError, SerdeError
from duolog.schemas.classes.reading import shape_of
from duolog.schemas.classes.schema_of import language_of, text_of
from duolog.schemas.classes.shapes import RecordOf
from duolog.schemas.schema import Language, Schema
from duolog.schemas.source import SchemaSource, SchemaText
from duolog.serde.typed.avro import AvroPayloads
from duolog.serde.typed.json import JsonPayloads
from duolog.serde.typed.protobuf import ProtobufPayloads
from duolog.serde.wire_format import (
    KEY_HEADER,
    VALUE_HEADER,
    SchemaKey,
    SchemaUnavailableError,
    framed,
    schema_of,
    unframed,
    with_header,
)

T = TypeVar("T")


class Payloads(Protocol):
    """The payloads of one class in one language."""

    def encode(self, value: object) -> bytes: ...

    def decoder(self, writer: Schema | None) -> Callable[[bytes], object]: ...


class Context(Protocol):
    """The topic and the part of a record, as confluent-kafka's `SerializationContext` has them."""

    topic: str
    field: str
    headers: "Iterable[tuple[str, bytes | None]] | None"


DECODERS_MAX: Final = 1000
"""The largest number of writers' schemas for which a serde keeps a decoder."""
_ANY: Final = ""
_PAYLOADS: Final[dict[Language, Callable[[RecordOf, str], Payloads]]] = {
    Language.AVRO: AvroPayloads,
    Language.JSON: JsonPayloads,
    Language.PROTOBUF: ProtobufPayloads,
}


class ClassSerde(Generic[T]):
    """Writes and reads instances of a class.

    Args:
        of: the class, as for `schema_of`.
        source: the registry.
        format: `avro`, `json` or `protobuf`.
        topic: the topic; its subject is `<topic>-value`, or `<topic>-key` for keys.
        subject: another subject.
        is_key: True for keys.
        auto_register: False to write only with a schema that the subject already has.
    """

    def __init__(
        self,
        of: type[T],
        source: SchemaSource,
        *,
        format: str = "avro",  # noqa: A002 - as users call it
        topic: str | None = None,
        subject: str | None = None,
        is_key: bool = False,
        auto_register: bool = True,
    ) -> None:
        self.of = of
        language = language_of(format)
        self.schema = SchemaText(language, text_of(cast("type", of), language))
        self._source = source
        self._topic = topic
        self._subject = subject
        self._part = "key" if is_key else "value"
        self._auto_register = auto_register
        self._payloads = _PAYLOADS[self.schema.language](shape_of(of), self.schema.text)
        self._ids: dict[str, int] = {}
        self._decoders: dict[SchemaKey, Callable[[bytes], object]] = {}

    def serialize(self, value: T | None, topic: str | None = None) -> bytes | None:
        """Return the bytes of an instance; None for None. `topic` replaces that of the serde.

        Raises:
            SerdeError: a value is not of its type, or there is no topic and no subject.
            RegistryError: the registry refuses the schema, or does not answer.
        """
        return self._written(value, self._subject_of(topic, self._part))

    def deserialize(self, data: bytes | None) -> T | None:
        """Return the instance that bytes contain; None for None.

        Raises:
            SerdeError: they do not contain one.
            SchemaUnavailableError: the registry does not return their schema; try again later.
        """
        if data is None:
            return None
        key, payload = unframed(data)
        try:
            found = self._decoder(key)(payload)
        except (SerdeError, SchemaUnavailableError):
            raise
        except Exception as error:  # damaged bytes and users' constructors raise errors of any kind
            raise SerdeError(
                f"cannot read a {self.of.__name__} from {self.schema.language.value.title()}",
                detail=f"{type(error).__name__}: {error}",
            ) from error
        return cast("T", found)

    def serializer(self, value: T | None, context: Context | None = None) -> bytes | None:
        """Return the bytes of an instance; for the setting `value.serializer` of confluent-kafka.

        Raises:
            SerdeError, RegistryError: as `serialize`.
        """
        if context is None:
            return self.serialize(value)
        return self._written(value, self._subject_of(context.topic, context.field))

    def deserializer(self, data: bytes | None, context: Context | None = None) -> T | None:
        """Return the instance that bytes contain; for `value.deserializer` of confluent-kafka.

        The headers of the context may name the schema.

        Raises:
            SerdeError, SchemaUnavailableError: as `deserialize`.
        """
        if context is None or not context.headers:
            return self.deserialize(data)
        header = KEY_HEADER if context.field == "key" else VALUE_HEADER
        return self.deserialize(with_header("AVRO", data, context.headers, header))

    def register(self, topic: str | None = None) -> int:
        """Register the schema for a topic, and return its id. It is written at the first record.

        Raises:
            RegistryError: the schema is not compatible with earlier versions.
        """
        return self._id_in(self._subject_of(topic, self._part))

    def _decoder(self, key: SchemaKey) -> Callable[[bytes], object]:
        if self.schema.language == Language.JSON:
            # One for all ids: it does not need the writer's schema, and any id may be in a record.
            key = _ANY
        found = self._decoders.get(key)
        if found is None:
            writer = None if key == _ANY else schema_of(self._source, key)
            found = self._payloads.decoder(writer)
            if len(self._decoders) >= DECODERS_MAX:
                del self._decoders[next(iter(self._decoders))]
            self._decoders[key] = found
        return found

    def _written(self, value: T | None, subject: str) -> bytes | None:
        if value is None:
            return None
        schema_id = self._id_in(subject)
        try:
            return framed(schema_id, self._payloads.encode(value))
        except (TypeError, ValueError, OverflowError, ArithmeticError, RecursionError) as error:
            raise SerdeError(
                f"cannot write a {self.of.__name__} as {self.schema.language.value.title()}",
                detail=str(error) or type(error).__name__,
            ) from error

    def _id_in(self, subject: str) -> int:
        known = self._ids.get(subject)
        if known is not None:
            return known
        if self._auto_register:
            found: int | None = self._source.register(subject, self.schema)
        else:
            found = self._source.id_of(subject, self.schema)
        if found is None:
            raise RegistryError(
                f'subject "{subject}" does not have the schema of {self.of.__name__}',
                hint="Register it, for example with duolog schema apply.",
            )
        self._ids[subject] = found
        return found

    def _subject_of(self, topic: str | None, part: str) -> str:
        if self._subject is not None:
            return self._subject
        topic = topic or self._topic
        if topic is None:
            raise SerdeError(
                f"cannot write a {self.of.__name__}: its topic is unknown",
                hint='Write TypedSerde(..., topic="orders").',
            )
        return f"{topic}-{part}"
