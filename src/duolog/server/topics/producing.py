"""Writes a record for a client, and describes the form for one.

    write   WRITE on the topic; by a schema: READ on its subject
    form    DESCRIBE on the topic; a schema: READ on its subject

The body of a write: {"key": part | null, "value": part | null, "headers": [[name, text | null]…],
"partition", "timestamp"}; part: {"format", "text"}, see `runtime.browsing.writing`.

Threads: any; each call opens clients of its own.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from duolog.core.errors import RegistryError
from duolog.runtime.browsing.cluster_topics import ClusterTopics
from duolog.runtime.browsing.decoding import LANGUAGES
from duolog.runtime.browsing.forms import form_of
from duolog.runtime.browsing.log import no_partition
from duolog.runtime.browsing.writing import FORMATS, NewRecord, PartText, encoded, latest_of, write
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.server.access.checks import Checks
from duolog.server.access.client import Right
from duolog.server.errors import RequestRefused
from duolog.server.topics.browsing import registry_of
from duolog.server.topics.parameters import NUMBER_MAX, members, one_of, text_member, whole_member

if TYPE_CHECKING:
    from duolog.runtime.sql.service import SqlService

Json = dict[str, Any]
_NULL: Final = PartText("NULL")
_HEADERS_MAX: Final = 1_000
_PARTITION_MAX: Final = 2**31 - 1


class WriteRequest(NamedTuple):
    """A record that a client wants to be written."""

    key: PartText
    value: PartText
    headers: tuple[tuple[str, bytes | None], ...]
    partition: int | None
    timestamp_ms: int | None


def read_write(body: bytes) -> WriteRequest:
    """Return the record of a body; raises RequestRefused if it is invalid."""
    given = members(body, {"key", "value", "headers", "partition", "timestamp"})
    return WriteRequest(
        _part(given, "key"),
        _part(given, "value"),
        _headers(given),
        whole_member(given, "partition", None, 0, _PARTITION_MAX),
        whole_member(given, "timestamp", None, 0, NUMBER_MAX),
    )


def produce(service: "SqlService", checks: Checks, topic: str, wanted: WriteRequest) -> Json:
    """Write a record, and return its place.

    Raises:
        RequestRefused: the client may not.
        SerdeError, RegistryError: the key or value cannot be written so.
        KafkaError: the topic does not exist, or the broker refuses.
    """
    rights = [Right(Operation.WRITE, ResourceType.TOPIC, topic)]
    parts = {"key": wanted.key, "value": wanted.value}
    for which, part in parts.items():
        if part.form in LANGUAGES:
            rights.append(Right(Operation.READ, ResourceType.SUBJECT, f"{topic}-{which}"))
    checks.ensure(rights)
    source = registry_of(service)
    for which, part in parts.items():
        if part.form in LANGUAGES:
            # An alias may lead to another subject.
            subject = latest_of(source, f"{topic}-{which}").subject
            checks.ensure([Right(Operation.READ, ResourceType.SUBJECT, subject)])
    key, value = (encoded(which, part, topic, source) for which, part in parts.items())
    record = NewRecord(key, value, wanted.headers, wanted.partition, wanted.timestamp_ms)
    # A client may create a topic that it writes to.
    parts_there = ClusterTopics(service.brokers).partitions(topic)
    if wanted.partition is not None and wanted.partition >= len(parts_there):
        raise no_partition(topic, wanted.partition, len(parts_there))
    written = write(service.brokers, topic, record)
    return {
        "partition": written.partition,
        "offset": str(written.offset),
        "timestamp": str(written.timestamp_ms),
    }


def form(service: "SqlService", checks: Checks, topic: str) -> Json:
    """Return the forms of a topic's keys and values; null for those without a schema.

    Raises:
        RequestRefused: the client may not see the topic.
        RegistryError: the registry does not answer.
    """
    checks.ensure([Right(Operation.DESCRIBE, ResourceType.TOPIC, topic)])
    subjects = [f"{topic}-key", f"{topic}-value"]
    seen = checks.allowed(Operation.READ, ResourceType.SUBJECT, subjects)
    source = registry_of(service)
    found: dict[str, Json | None] = {}
    problem = ""
    for which, subject in zip(("key", "value"), subjects, strict=True):
        found[which] = None
        if source is None or subject not in seen:
            continue
        try:
            version = source.latest(subject)
            if version is not None and _may_read(checks, version.subject):
                found[which] = form_of(version, source)
        except RegistryError as error:
            problem = error.one_line()
    return {"topic": topic, **found, "formats": list(FORMATS), "problem": problem or None}


def _may_read(checks: Checks, subject: str) -> bool:
    return bool(checks.allowed(Operation.READ, ResourceType.SUBJECT, [subject]))


def _part(given: Mapping[str, Any], name: str) -> PartText:
    part = given.get(name)
    if part is None:
        return _NULL
    if not isinstance(part, dict) or not part.keys() <= {"format", "text"}:
        raise RequestRefused(f"'{name}' is not an object with 'format' and 'text'")
    form = one_of(f"{name}.format", text_member(part, "format", "STRING"), FORMATS)
    return PartText(form, text_member(part, "text", ""))


def _headers(given: Mapping[str, Any]) -> tuple[tuple[str, bytes | None], ...]:
    headers = given.get("headers", [])
    if not isinstance(headers, list) or len(headers) > _HEADERS_MAX:
        raise RequestRefused(f"'headers' is not an array of at most {_HEADERS_MAX} pairs")
    found: list[tuple[str, bytes | None]] = []
    for one in headers:
        match one:
            case [str(name), None]:
                found.append((_utf8(name).decode(), None))
            case [str(name), str(value)]:
                found.append((_utf8(name).decode(), _utf8(value)))
            case _:
                raise RequestRefused("'headers' has an item that is not [name, text or null]")
    return tuple(found)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise RequestRefused("'headers' has a text that is not valid Unicode") from error
