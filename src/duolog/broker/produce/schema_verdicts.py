"""Decide which batches of a produce request are refused for the schema ids of their records.

    frames of all batches ─► known? ─── all ──────────────────────────► verdicts
                               └─ no ─► ask the registry, off the loop ─► verdicts

A batch with a record that does not pass is refused whole, with INVALID_RECORD and an error for each
of the first such records. If the registry does not answer, a batch whose schema ids are not all
known is refused with NOT_ENOUGH_REPLICAS, after which clients send it again.
"""

from collections.abc import Generator, Iterable, Iterator
from enum import Enum
from functools import partial
from itertools import chain, islice, starmap
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from duolog.broker.produce.batch_validation import RECORD_ERRORS_MAX, BatchRefused, OpenedRecords
from duolog.broker.requests.many_items import Stepwise, Waiting
from duolog.broker.schema_checks.frames import UNFRAMED, message_indexes, schema_key
from duolog.broker.schema_checks.registered import MISSES_MAX
from duolog.broker.schema_checks.walk import Found, Spans
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
    before = schemas.questions
    for part in (part for some in parts for part in some):
        yield from _questions(schemas, part, before, wanted)
    failure = None
    if wanted:
        try:
            yield Waiting(partial(schemas.look_up, wanted))
        except RegistryError as error:
            failure = error
    refusals = _Refusals(schemas, before, failure)
    for place, (some, row) in enumerate(zip(parts, rows, strict=True)):
        if some and row is not None:
            refusal = yield from refusals.of(some)
            rows[place] = row._replace(frames=None, refusal=refusal)
    large = [one for some in parts for one in some if len(one.found) > _FRAMES_A_STEP]
    if large:
        yield partial(_free, large)
    return rows


def _free(parts: list[_Part]) -> None:
    """Free many frames, which takes long: on any thread but that of the loop."""
    for part in parts:
        part.found.clear()


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
    schemas: "RegisteredSchemas", part: _Part, before: int, wanted: "dict[SchemaKey, bool]"
) -> Generator[None, None, None]:
    """Add what the registry must be asked: the schemas, and if their names are needed."""
    for number, frame in enumerate(part.found):
        if number % _FRAMES_A_STEP == _FRAMES_A_STEP - 1:
            yield
        if _verdict(schemas, part, frame, before) is _Open.QUESTION:
            key = schema_key(frame)
            wanted[key] = wanted.get(key, False) or part.strategy.names_records


class _Refusals:
    """The refusals of the batches of one request.

    Only the first frames at fault are reported, as many as are looked up at most. So an answer does
    not depend on which of the ids at fault exist, however the producer combines them.
    """

    def __init__(
        self, schemas: "RegisteredSchemas", before: int, failure: RegistryError | None
    ) -> None:
        self._schemas = schemas
        self._before = before
        self._failure = failure
        self._frames_left = MISSES_MAX
        self._errors_left = RECORD_ERRORS_MAX

    def of(self, parts: list[_Part]) -> Generator[None, None, KafkaError | None]:
        """Return why a batch is refused; None if it is accepted."""
        errors: dict[int, str] = {}
        first = ""
        unanswered = False
        for part in parts:
            for number, (frame, spans) in enumerate(part.found.items()):
                if number % _FRAMES_A_STEP == _FRAMES_A_STEP - 1:
                    yield
                verdict = _verdict(self._schemas, part, frame, self._before)
                if verdict is None:
                    continue
                if verdict is _Open.QUESTION or not self._is_reported(frame):
                    unanswered = True
                    continue
                first = first or verdict
                errors.update(dict.fromkeys(_first_of(spans), verdict))
                yield
        if errors:
            ordered = tuple(sorted(errors.items())[: max(self._errors_left, 1)])
            self._errors_left -= len(ordered)
            return BatchRefused(first, code=ErrorCode.INVALID_RECORD, record_errors=ordered)
        return self._unanswered() if unanswered else None

    def _is_reported(self, frame: bytes) -> bool:
        """Return whether a frame at fault is one of the first."""
        if frame == UNFRAMED:
            return True
        self._frames_left -= 1
        return self._frames_left >= 0

    def _unanswered(self) -> KafkaError:
        failure = self._failure
        reason = failure.message if failure is not None else "too many schema ids are unknown"
        return KafkaError(
            f"schema ids of the records cannot be checked: {reason}",
            code=ErrorCode.NOT_ENOUGH_REPLICAS,
            retriable=True,
        )


def _first_of(spans: Spans) -> Iterator[int]:
    """Yield the first indexes of spans, as many as a request reports."""
    return islice(chain.from_iterable(starmap(range, spans)), RECORD_ERRORS_MAX)


def _verdict(
    schemas: "RegisteredSchemas", part: _Part, frame: bytes, before: int
) -> str | Literal[_Open.QUESTION] | None:
    """Return why records of a frame are refused; None if they are accepted.

    `before` is the number of questions when the request came: answers to later ones are final.

    The reason is the same for a schema of another subject and for one that does not exist:
    a producer that may not read the registry does not learn which ids it has.
    """
    if frame == UNFRAMED:
        return f"the {part.noun} has no schema id"
    key = schema_key(frame)
    registered = schemas.known(key)
    if registered is None:
        is_open = not schemas.is_missing(key, before)
    elif part.strategy.names_records and registered.schema is None:
        is_open = not (registered.problem and schemas.is_recent(registered, before))
    elif (found := _subject(part, frame, registered)) in registered.subjects:
        return None
    else:
        is_open = not schemas.lacks(key, found, before)
    if is_open:
        return _Open.QUESTION
    subject = None if part.strategy.names_records else _subject(part, frame, None)
    wanted = (
        "a subject of its record name is expected"
        if subject is None
        else (f'expected subject "{subject}"')
    )
    return f"schema {key} of the {part.noun} is not registered for this topic: {wanted}"


def _subject(part: _Part, frame: bytes, registered: "Registered | None") -> str | None:
    schema = None if registered is None else registered.schema
    name = None if schema is None else _record_name(schema, frame)
    return subject_of(part.strategy, part.topic, name, is_key=part.is_key)


def _record_name(schema: Schema, frame: bytes) -> str | None:
    if schema.language is not Language.PROTOBUF:
        return schema.name
    from duolog.schemas.protobuf.schema import ProtobufSchema  # noqa: PLC0415 - rarely needed

    assert isinstance(schema, ProtobufSchema)
    try:
        return schema.message_name(message_indexes(frame))
    except InvalidSchemaError:
        return None
