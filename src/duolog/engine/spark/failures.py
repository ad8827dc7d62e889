"""Translate Spark's failures: name the cause, keep the error class, and add a hint if there is one.

Spark wraps the failure of a task several times (query, job, task, cause). The cause is what a
person needs; the wrappers are kept as the Python cause of the error.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

from duolog.core.errors import DuologError
from duolog.engine.checkpoint.file_hints import AGAIN, FILE_HINTS
from duolog.engine.errors import (
    BrokerUnreachable,
    ExecutorsMissing,
    FailureKind,
    FileSystemFailed,
    JvmNotStarted,
    QueryFailed,
    SourceTopicMissing,
)
from duolog.engine.java_objects import JavaObject
from duolog.engine.jvm.jars import COMPILE_AGAIN

JVM_IS_GONE: Final = (Py4JError, ConnectionError)
"""What a call into a JVM that has ended raises."""
_CAUSES_MAX: Final = 20
_LINES_MAX: Final = 8
_DAMAGE_HINT: Final = (
    "A file of the checkpoint is damaged. Restore the checkpoint from a backup, or run "
    "`duolog state reset APPLICATION` to compute everything again from the topics. If its "
    "stores have changelogs, `duolog state restore FILE` restores them."
)
_DATA_LOSS_HINT: Final = (
    "Records were deleted (by retention, or with a topic) before the query read them. Run "
    "`duolog state reset APPLICATION` to start from the records that are left; in "
    "micro-batches the setting lost.records.handler=log_and_continue continues with them."
)
# Spark's error for the second of two writers of the same log entry.
_OTHER_OWNER: Final = "CONCURRENT_STREAM_LOG_UPDATE"
_OTHER_OWNER_HINT: Final = (
    "This process no longer owns the checkpoint. Keep the other one, or stop it and start again."
)
_NOT_SYNCED_HINT: Final = (
    "A retry could report success although data was lost, so none is made. Replace the "
    "disk, end the "
    f"process, {AGAIN}"
)
_GO_ON: Final = "Set {}.exception.handler=log_and_continue to skip such records."
_FULL_HINT: Final = (
    "Raise max_records or max_bytes of suppress(), or with a time limit emit the oldest rows "
    'early: when_full="emit". Then start again: nothing is lost.'
)
_COMMITS_LOST_HINT: Final = (
    "Restore the broker's data, or the checkpoint from a backup. To compute everything "
    "again from the topics, run `duolog state reset` with the application's id."
)
# The kernel does not know a field of a plan's step that Python sent.
_OTHER_KERNEL: Final = "UnrecognizedPropertyException"
_TAKEN_OVER_HINT: Final = (
    "Two running applications share this id and fence each other. Stop one of them, or give "
    "it another id."
)
_TIMEOUT_HINT: Final = (
    "Raise the client setting transaction.timeout.ms, which the broker limits by its "
    "transaction.max.timeout.ms; or lower max.offsets.per.trigger, so that an epoch reads less."
)
_NO_ROOM: Final = "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT"
_NO_ROOM_HINT: Final = "Add slots to the workers of the cluster, or run the query in micro-batches."
_REGISTRY_HINT: Final = (
    "Check that the schema registry runs at ksql.schema.registry.url, then start the query again: "
    "no record is lost."
)
_LOGIN_HINT: Final = (
    "The broker no longer accepts the login. Check sasl.username and sasl.password in the client "
    "properties, then start the query again: no record is lost."
)
_TLS_HINT: Final = (
    "Check ssl.truststore.location and ssl.keystore.location in the client properties, then start "
    "the query again: no record is lost."
)
_RIGHTS_HINT: Final = (
    "Give the user the missing right: `duolog run FILE --print-acls User:NAME` prints "
    "the commands. Then start the query again: no record is lost."
)
_REGISTRY_LOGIN_HINT: Final = (
    "Name a user who may read the schemas: in SQL in ksql.schema.registry.basic.auth.user.info, in "
    "an application in schema.registry.url, or for both in the environment variable "
    "DUOLOG_SCHEMA_REGISTRY_USER_INFO. Then start the query again: no record is lost."
)
_JVM_ENDED_HINT: Final = "The JVM has ended. See its last lines in the engine's log."
# Exceptions of the kernel whose message is complete.
_IN_WORDS: Final = frozenset(
    {
        "CommitsLostException",
        "EpochBrokenException",
        "RecordFailedException",
        "RegistryAwayException",
        "RegistryLoginException",
        "StoreFullException",
        "TakenOverException",
    }
)
# Exceptions of the kernel that say what the application cannot do, with the file and the system's
# reason.
_CANNOT: Final = frozenset({"NotSyncedException", "NotWrittenException"})
# (a substring of the error class or of the message, the hint)
_HINTS: Final = (
    ("RecordFailedException: cannot read", _GO_ON.format("deserialization")),
    ("RecordFailedException: cannot process", _GO_ON.format("processing")),
    ("RecordFailedException: cannot write", _GO_ON.format("production")),
    ("StoreFullException: cannot buffer", _FULL_HINT),
    ("RegistryAwayException", _REGISTRY_HINT),
    ("RegistryLoginException", _REGISTRY_LOGIN_HINT),
    ("TakenOverException", _TAKEN_OVER_HINT),
    ("CommitsLostException", _COMMITS_LOST_HINT),
    ("transaction.timeout.ms", _TIMEOUT_HINT),
    (_OTHER_KERNEL, COMPILE_AGAIN),
    ("NotSyncedException", _NOT_SYNCED_HINT),
    ("CheckpointLostException", _OTHER_OWNER_HINT),
    (_OTHER_OWNER, _OTHER_OWNER_HINT),
    ("ChecksumException", _DAMAGE_HINT),
    ("CHECKSUM_VERIFICATION_FAILED", _DAMAGE_HINT),
    ("JsonParseException", _DAMAGE_HINT),
    ("STDS_FAILED_TO_READ_OPERATOR_METADATA", _DAMAGE_HINT),
    *FILE_HINTS,
    ("in safe mode", f"Wait until the name node has left safe mode, {AGAIN}"),
    ("quota of ", f"Raise the quota, or free space in it, {AGAIN}"),
    ("minReplication", f"Free space on its data nodes, or start them, {AGAIN}"),
    (
        "failed on connection exception",
        f"Check that the file system of the checkpoint is running, {AGAIN}",
    ),
    ("SaslAuthenticationException", _LOGIN_HINT),
    ("SslAuthenticationException", _TLS_HINT),
    ("AuthorizationException", _RIGHTS_HINT),
    ("KAFKA_DATA_LOSS", _DATA_LOSS_HINT),
    ("OffsetOutOfRange", _DATA_LOSS_HINT),
    ("UnknownTopicOrPartition", "A topic was deleted while the query ran. Create it and restart."),
    (
        "TimeoutException",
        "The broker does not answer. Check that it is running, then start the query again.",
    ),
    ("Py4JNetworkError", _JVM_ENDED_HINT),
    ("ConnectionRefusedError", _JVM_ENDED_HINT),
    ("OutOfMemoryError", 'Give the JVM more memory: raise the setting "driver.memory.bytes".'),
    (_NO_ROOM, _NO_ROOM_HINT),
    # Last: more specific causes of unreadable state are above.
    ("CANNOT_LOAD_STATE_STORE", _DAMAGE_HINT),
)

# Errors of Kafka's clients, of the kernel or of py4j if a broker, a registry or the JVM is
# unreachable and may return.
_BROKER_AWAY: Final = frozenset(
    {
        "BrokerNotAvailableException",
        "CoordinatorNotAvailableException",
        "DisconnectException",
        "LeaderNotAvailableException",
        "NetworkException",
        "NotLeaderOrFollowerException",
        "RegistryAwayException",
        "TimeoutException",
    }
)
_JVM_AWAY: Final = frozenset(
    {
        "BrokenPipeError",
        "ConnectionError",
        "ConnectionRefusedError",
        "ConnectionResetError",
        "Py4JError",
        "Py4JNetworkError",
    }
)
# Our own errors for something that is unreachable and may return.
_AWAY: Final = (BrokerUnreachable, ExecutorsMissing, FileSystemFailed, JvmNotStarted)
# Spark's errors after the loss of an executor: its own, those of a task that was just connected to
# it, or those of the next real-time epoch, which finds fewer slots than the one before.
_EXECUTOR_AWAY: Final = re.compile(
    rf"{_NO_ROOM}|ExecutorLostFailure|FetchFailed|Failed to connect to |Connection reset by "
    rf"peer|Connection from \S+ closed"
    r"|ClosedChannelException|Executor \S+ lost|SparkContext was shut down|stopped "
    r"SparkContext"
)
# Errors of Hadoop's clients if a file system is unreachable or temporarily read-only.
_FILES_AWAY: Final = re.compile(
    r"failed on (connection|socket) exception|in safe mode|StandbyException"
)
# The kernel's, where records cannot do without a shuffle.
_MISPLACED: Final = "MisroutedRecordException"
# The kernel's, of exactly once: another owner, and an epoch that is to be computed again.
_TAKEN_OVER: Final = "TakenOverException"
_EPOCH_AGAIN: Final = frozenset({"EpochBrokenException"})
# A start fails again until someone has changed a record, a right, a login or a topic.
_BY_USER: Final = re.compile(
    r"^RecordFailedException$|AuthorizationException$|AuthenticationException$"
    r"|^RegistryLoginException$|^UnknownTopicOrPartitionException$|^InvalidTopicException$"
)
_OUT_OF_MEMORY: Final = frozenset({"OutOfMemoryError", "SparkOutOfMemoryError"})


@dataclass(frozen=True, slots=True)
class Cause:
    """One link in a chain of Java exceptions."""

    class_name: str
    message: str
    error_class: str

    def __str__(self) -> str:
        text = _sentence(self.message)
        return f"{self.class_name}: {text}" if text else self.class_name


def _sentence(message: str) -> str:
    """Return the text of a message: its first lines, without a stack trace or plan."""
    lines: list[str] = []
    for line in message.strip().splitlines():
        # Spark wraps long sentences; an indented or separated line does not belong to them.
        if not line.strip() or line[0].isspace() or len(lines) == _LINES_MAX:
            break
        # Advice to set an option of Spark's source, which users cannot set.
        if "failOnDataLoss" not in line:
            lines.append(line.strip())
    return " ".join(lines)


def to_query_failed(
    error: BaseException,
    query_id: str,
    log_path: Path | None = None,
    places: Mapping[str, str] | None = None,
) -> QueryFailed:
    """Return `error` as the failure of a query, with exceptions of PySpark and py4j translated.

    For those the detail names `log_path`, where the JVM logs more, and the source line of the node
    that failed: `places` maps node names to source lines.
    """
    if isinstance(error, QueryFailed):
        return error
    if isinstance(error, DuologError):
        away = any(isinstance(of, _AWAY) for of in (error, error.__cause__))
        missing = isinstance(error, SourceTopicMissing)
        return QueryFailed(
            error.message,
            query_id=query_id,
            detail=error.detail,
            hint=error.hint,
            kind=FailureKind(may_pass=away or missing, source_missing=missing),
        )
    failed = query_failed(query_id, list(causes_of(error)))
    failed.detail = f"{_written_at(failed.message, places or {})}{failed.detail}"
    if log_path is not None:
        failed.detail = f"{failed.detail} The engine's log is {log_path}.".lstrip()
    return failed


def or_jvm_ended(error: Exception) -> Exception:
    """Return `error`, or an error that the JVM has ended if it has and `error` does not say so.

    PySpark has dropped its JVM by then, and fails with confusing errors on None.
    """
    known = (DuologError, PySparkException, Py4JError, OSError)
    return error if isinstance(error, known) else Py4JNetworkError("the JVM has ended")


def _written_at(message: str, places: Mapping[str, str]) -> str:
    """Return a sentence with the source line of the node that `message` names, or an empty string.

    Example:
        >>> _written_at("cannot process the record at filter-2: /", {"filter-2": "app.py:7"})
        'filter-2 is written at app.py:7. '
    """
    # The kernel's own steps are named after their node: filter-2-carry.
    for name in re.findall(r" ([a-z-]+-\d+)(?:-[a-z0-9-]+)?:", message):
        if place := places.get(name):
            return f"{name} is written at {place}. "
    return ""


def taken_over(failed: QueryFailed, by: str) -> QueryFailed:
    """Return the final failure of a query whose checkpoint another process has claimed."""
    return QueryFailed(
        f'application "{failed.query_id}" failed: another process writes to its checkpoint',
        query_id=failed.query_id,
        detail=f"It is {by}. {failed.message}.",
        hint=_OTHER_OWNER_HINT,
        kind=FailureKind(failed.kind.error_class),
    )


def query_failed(query_id: str, causes: list[Cause]) -> QueryFailed:
    """Return the error for a chain of causes, outermost first."""
    # The kernel's message names the record; its cause only says why.
    named = [_sentence(cause.message) for cause in causes if cause.class_name in _IN_WORDS]
    root = named[-1] if named else causes[-1] if causes else "unknown failure"
    classes = [cause.error_class for cause in causes if cause.error_class]
    # STREAM_FAILED has no information: every failed query has it.
    telling = [name for name in classes if name != "STREAM_FAILED"] or classes
    if _OTHER_OWNER in telling:
        root = "another process writes to its checkpoint"
    names = {cause.class_name for cause in causes}
    if _OTHER_KERNEL in names:
        root = f"the kernel jar does not match this Duolog: {root}"
    text = " ".join(f"{cause.error_class} {cause}" for cause in causes)
    cannot = causes[-1].message if causes and causes[-1].class_name in _CANNOT else ""
    return QueryFailed(
        f'application "{query_id}" {_sentence(cannot) or f"failed: {root}"}',
        query_id=query_id,
        detail=f"Spark's error class: {telling[-1]}." if telling else "",
        hint=next((hint for part, hint in _HINTS if part in text), ""),
        kind=FailureKind(
            telling[-1] if telling else "",
            may_pass=_TAKEN_OVER not in names
            and (
                not names.isdisjoint(_BROKER_AWAY | _JVM_AWAY | _OUT_OF_MEMORY | _EPOCH_AGAIN)
                or (not named and _EXECUTOR_AWAY.search(text) is not None)
                or (not named and _FILES_AWAY.search(text) is not None)
            ),
            out_of_memory=not names.isdisjoint(_JVM_AWAY | _OUT_OF_MEMORY),
            by_user=any(_BY_USER.search(name) for name in names),
            misplaced=_MISPLACED in names,
        ),
    )


def causes_of(error: BaseException) -> Iterator[Cause]:
    """Yield the Java exceptions that caused `error`, outermost first."""
    if isinstance(error, Py4JJavaError):
        yield from _java_causes(error.java_exception)
    elif isinstance(error, PySparkException):
        origin: JavaObject | None = getattr(error, "_origin", None)
        if origin is not None:
            yield from _java_causes(origin)
        else:
            yield Cause(type(error).__name__, str(error), str(error.getCondition() or ""))
    else:
        yield Cause(type(error).__name__, str(error), "")


def _java_causes(exception: JavaObject | None) -> Iterator[Cause]:
    for _ in range(_CAUSES_MAX):
        if exception is None:
            return
        class_name = str(exception.getClass().getSimpleName())
        yield Cause(class_name, str(exception.getMessage() or ""), _error_class(exception))
        exception = exception.getCause()


def _error_class(exception: JavaObject) -> str:
    try:
        return str(exception.getCondition() or "")
    except (Py4JError, TypeError):  # not one of Spark's own exceptions
        return ""
