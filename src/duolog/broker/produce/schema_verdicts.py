"""Decide which batches of a produce request are refused for the schema ids of their records.

    frames of all batches ─► known? ─── all ──────────────────────────► verdicts
                               └─ no ─► ask the registry, off the loop ─► verdicts

A batch with a record that does not pass is refused whole, with INVALID_RECORD and an error for
each such record. If the registry does not answer, a batch whose schema ids are not all known is
refused with NOT_ENOUGH_REPLICAS, after which clients send it again.
"""

from collections.abc import Generator, Iterable, Iterator
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from duolog.broker.produce.batch_validation import BatchRefused, OpenedRecords
from duolog.broker.requests.many_items import Stepwise, Waiting
from duolog.broker.schema_checks.frames import UNFRAMED, Found, message_indexes, schema_key
from duolog.core.errors import KafkaError, RegistryError
from duolog.protocol.error_codes import ErrorCode
from duolog.schemas.schema import InvalidSchemaError, Language, Schema
from duolog.schemas.subject_names import SubjectStrategy, subject_of

if TYPE_CHECKING:
    from duolog.broker.schema_checks.registered import Registered, RegisteredSchemas
    from duolog.protocol.produce import ProduceRequest
    from duolog.schemas.subjects import SchemaKey

_FRAMES_A_STEP: Final = 500


class _Open(Enum):
    """The verdict about a schema of which the registry must be asked."""

    QUESTION = 0


class _Part(NamedTuple):
    """The keys or values of a batch, with the records of each frame."""

    topic: str
    is_key: bool
    strategy: SubjectStrategy
    found: Found

    @property
    def noun(self) -> str:
        return "key" if self.is_key else "value"


def judged(
    schemas: "RegisteredSchemas",
    request: "ProduceRequest",
    opened: Iterable[OpenedRecords | None],
) -> Stepwise[list[OpenedRecords | None]]:
    """Return the opened batches with a refusal for those whose schema ids are not accepted."""
    rows = list(opened)
    parts = [_parts(topic, row) for topic, row in zip(_topics(request), rows, strict=True)]
    if not any(parts):
        return rows
    wanted: dict[SchemaKey, bool] = {}
    for part in (part for some in parts for part in some):
        yield from _questions(schemas, part, wanted)
    failure = None
    if wanted:
        try:
            yield Waiting(partial(schemas.look_up, wanted))
        except RegistryError as error:
            failure = error
    for place, (some, row) in enumerate(zip(parts, rows, strict=True)):
        if some and row is not None:
            refusal = yield from _refusal(schemas, some, failure)
            rows[place] = row._replace(frames=None, refusal=refusal)
    return rows


def _topics(request: "ProduceRequest") -> Iterator[str]:
    """Yield the topic of each batch of a request."""
    for name, data in request.topics:
        topic = name.decode("utf-8", "replace")
        for _ in data:
            yield topic


def _parts(topic: str, row: OpenedRecords | None) -> list[_Part]:
    if row is None or row.frames is None:
        return []
    checks = row.config.schema_checks
    assert checks is not None, "frames are found for checks alone"
    keys, values = row.frames
    parts = []
    if checks.key is not None and keys is not None:
        parts.append(_Part(topic, is_key=True, strategy=checks.key, found=keys))
    if checks.value is not None and values is not None:
        parts.append(_Part(topic, is_key=False, strategy=checks.value, found=values))
    return parts


def _questions(
    schemas: "RegisteredSchemas", part: _Part, wanted: "dict[SchemaKey, bool]"
) -> Generator[None, None, None]:
    """Add what the registry must be asked: the schemas, and if their names are needed."""
    for number, frame in enumerate(part.found):
        if number % _FRAMES_A_STEP == _FRAMES_A_STEP - 1:
            yield
        if _verdict(schemas, part, frame) is _Open.QUESTION:
            key = schema_key(frame)
            wanted[key] = wanted.get(key, False) or part.strategy.names_records


def _refusal(
    schemas: "RegisteredSchemas", parts: list[_Part], failure: RegistryError | None
) -> Generator[None, None, KafkaError | None]:
    """Return why a batch is refused; None if it is accepted."""
    errors: dict[int, str] = {}
    first = ""
    unanswered = False
    for part in parts:
        for number, (frame, spans) in enumerate(part.found.items()):
            if number % _FRAMES_A_STEP == _FRAMES_A_STEP - 1:
                yield
            verdict = _verdict(schemas, part, frame)
            if verdict is _Open.QUESTION:
                unanswered = True
            elif verdict is not None:
                first = first or verdict
                for start, end in spans:
                    errors.update(dict.fromkeys(range(start, end), verdict))
    if errors:
        ordered = tuple(sorted(errors.items()))
        return BatchRefused(first, code=ErrorCode.INVALID_RECORD, record_errors=ordered)
    if unanswered:
        reason = failure.message if failure is not None else "too many schema ids are unknown"
        return KafkaError(
            f"schema ids of the records cannot be checked: {reason}",
            code=ErrorCode.NOT_ENOUGH_REPLICAS,
            retriable=True,
        )
    return None


def _verdict(schemas: "RegisteredSchemas", part: _Part, frame: bytes) -> str | _Open | None:
    """Return why records of a frame are refused; None if they are accepted."""
    if frame == UNFRAMED:
        return f"the {part.noun} has no schema id"
    key = schema_key(frame)
    registered = schemas.known(key)
    if registered is None:
        if not schemas.is_missing(key):
            return _Open.QUESTION
        return f"the schema registry does not know schema {key} of the {part.noun}"
    return _verdict_of(schemas, part, frame, registered)


def _verdict_of(
    schemas: "RegisteredSchemas", part: _Part, frame: bytes, registered: "Registered"
) -> str | _Open | None:
    if part.strategy.names_records and registered.schema is None:
        if registered.problem and schemas.is_recent(registered):
            key = schema_key(frame)
            return f"schema {key} of the {part.noun} cannot be read: {registered.problem}"
        return _Open.QUESTION
    name = _record_name(registered.schema, frame) if registered.schema is not None else None
    subject = subject_of(part.strategy, part.topic, name, is_key=part.is_key)
    if subject in registered.subjects:
        return None
    if not schemas.is_recent(registered):
        return _Open.QUESTION
    wanted = "a named schema is expected" if subject is None else f'expected subject "{subject}"'
    return (
        f"schema {schema_key(frame)} of the {part.noun} is not registered for this topic: {wanted}"
    )


def _record_name(schema: Schema, frame: bytes) -> str | None:
    if schema.language is not Language.PROTOBUF:
        return schema.name
    from duolog.schemas.protobuf.schema import ProtobufSchema  # noqa: PLC0415 - rarely needed

    assert isinstance(schema, ProtobufSchema)
    try:
        return schema.message_name(message_indexes(frame))
    except InvalidSchemaError:
        return None
