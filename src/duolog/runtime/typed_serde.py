"""`TypedSerde`: a serde of a Python class for any Kafka client."""

from typing import TypeVar

from duolog.runtime.schema_registries import registry_at
from duolog.schemas.source import SchemaSource
from duolog.serde.typed import ClassSerde

T = TypeVar("T")


class TypedSerde(ClassSerde[T]):
    r"""Writes and reads instances of a class, with the schema of the class in a registry.

    Use `serialize` and `deserialize` with any client, or give `serializer` and `deserializer` to
    confluent-kafka. The first record that is written registers the schema. Records that were
    written with earlier schemas are read as instances of the class of today.

    Args:
        of: a dataclass, a TypedDict, a NamedTuple, or a pydantic model.
        registry: the address of a schema registry, `http://127.0.0.1:8081`, or a source of schemas.
        format: `avro`, `json` or `protobuf`.
        topic: the topic; its subject is `<topic>-value`, or `<topic>-key` for keys.
        subject: another subject.
        is_key: True for keys.
        auto_register: False to write only with a schema that the subject already has.

    Raises:
        RegistryError: a schema cannot describe the class; the error has the path of the field.

    Example:
        >>> from typing import NamedTuple
        >>> from duolog.registry.in_process import InProcessRegistry
        >>> class Visit(NamedTuple):
        ...     user: str
        ...     pages: int = 1
        >>> visits = TypedSerde(Visit, registry=InProcessRegistry(), topic="visits")
        >>> data = visits.serialize(Visit("bob", 3))
        >>> data
        b'\x00\x00\x00\x00\x01\x06bob\x06'
        >>> visits.deserialize(data)
        Visit(user='bob', pages=3)
    """

    def __init__(
        self,
        of: type[T],
        *,
        registry: str | SchemaSource,
        format: str = "avro",  # noqa: A002 - as users call it
        topic: str | None = None,
        subject: str | None = None,
        is_key: bool = False,
        auto_register: bool = True,
    ) -> None:
        super().__init__(
            of,
            registry_at(registry) if isinstance(registry, str) else registry,
            format=format,
            topic=topic,
            subject=subject,
            is_key=is_key,
            auto_register=auto_register,
        )
