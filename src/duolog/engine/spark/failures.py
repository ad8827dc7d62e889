"""Spark's failures in Duolog's words: the cause named, Spark's error class kept, a hint where known.

Spark wraps a failure of a task several times (query, job, task, the cause). The cause is what a
person needs; the wrapping is kept as the Python cause of the error.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

from duolog.core.errors import DuologError
from duolog.engine.checkpoint.file_hints import AGAIN, FILE_HINTS
from duolog.engine.errors import (
    BrokerUnreachable,
    ExecutorsMissing,
    FileSystemFailed,
    JvmNotStarted,
    QueryFailed,
    SourceTopicMissing,
)
from duolog.engine.jvm.jars import COMPILE_AGAIN

_CAUSES_MAX: Final = 20
_LINES_MAX: Final = 8
_DAMAGE_HINT: Final = (
    "A file of the checkpoint is damaged. Bring a copy of the checkpoint back, or run `duolog state reset APPLICATION` "
    "to compute everything again from the topics."
    " Where its stores have changelogs, `duolog state restore FILE` brings them back."
)
_DATA_LOSS_HINT: Final = (
    "Records were deleted (retention, or a topic made anew) before the query read them. "
    "Run `duolog state reset APPLICATION` to start from what is still there; in micro-batches the setting "
    "lost.records.handler=log_and_continue goes on from there."
)
# Of two that write the same entry of Spark's log, the second one is told this.
_OTHER_OWNER: Final = "CONCURRENT_STREAM_LOG_UPDATE"
_OTHER_OWNER_HINT: Final = "This process no longer owns the checkpoint. Let the other one go on, or end it and start again."
_NOT_SYNCED_HINT: Final = (
    "What was written may not be on the disk, whatever a second try would tell: this process tries none. See to the disk, end the "
    f"process, {AGAIN}"
)
_GO_ON: Final = (
    "Such records are passed over with the setting {}.exception.handler=log_and_continue."
)
_FULL_HINT: Final = (
    "Raise max_records or max_bytes of suppress(), or of a time limit let what waits for longest leave "
    'early: when_full="emit". Then start again: nothing is lost.'
)
_COMMITS_LOST_HINT: Final = (
    "Restore the broker's data, or bring a copy of the checkpoint back. To compute everything again from the topics, run "
    "`duolog state reset` with the application's id."
)
# Of a plan's step the kernel knows other fields than the Python that has sent it.
_OTHER_KERNEL: Final = "UnrecognizedPropertyException"
_TAKEN_OVER_HINT: Final = "Two applications of one name write in each other's place. Let one of them go on; another one needs a name of its own."
_TIMEOUT_HINT: Final = (
    "Let an epoch take longer with the client setting transaction.timeout.ms, which the broker bounds by its "
    "transaction.max.timeout.ms; or let it read less: max.offsets.per.trigger."
)
_NO_ROOM: Final = "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT"
_NO_ROOM_HINT: Final = (
    "Give the workers of the cluster more slots, or run the query in micro-batches."
)
_JVM_ENDED_HINT: Final = "The JVM has ended. What it said last is in the engine's log."
# Exceptions of the kernel that say all there is to say.
_IN_WORDS: Final = frozenset(
    {
        "CommitsLostException",
        "EpochBrokenException",
        "RecordFailedException",
        "StoreFullException",
        "TakenOverException",
    }
)
# Exceptions of the kernel whose text says what the application cannot do, with the file and the system's reason.
_CANNOT: Final = frozenset({"NotSyncedException", "NotWrittenException"})
# (a part of the error class or of the message, what to do)
_HINTS: Final = (
    ("RecordFailedException: cannot read", _GO_ON.format("deserialization")),
    ("RecordFailedException: cannot process", _GO_ON.format("processing")),
    ("RecordFailedException: cannot write", _GO_ON.format("production")),
    ("StoreFullException: cannot buffer", _FULL_HINT),
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
        f"See that the file system of the checkpoint runs, {AGAIN}",
    ),
    ("KAFKA_DATA_LOSS", _DATA_LOSS_HINT),
    ("OffsetOutOfRange", _DATA_LOSS_HINT),
    ("UnknownTopicOrPartition", "A topic was deleted while the query ran. Create it and restart."),
    (
        "TimeoutException",
        "The broker does not answer. See that it runs, then start the query again.",
    ),
    ("Py4JNetworkError", _JVM_ENDED_HINT),
    ("ConnectionRefusedError", _JVM_ENDED_HINT),
    ("OutOfMemoryError", 'Give the JVM more memory: setting "driver.memory.bytes".'),
    (_NO_ROOM, _NO_ROOM_HINT),
    # Last: whatever else keeps state from being read says so above.
    ("CANNOT_LOAD_STATE_STORE", _DAMAGE_HINT),
)

# What is said, by Kafka's clients or by py4j, where a broker or the JVM is away and may come back.
_BROKER_AWAY: Final = frozenset(
    {
        "BrokerNotAvailableException",
        "CoordinatorNotAvailableException",
        "DisconnectException",
        "LeaderNotAvailableException",
        "NetworkException",
        "NotLeaderOrFollowerException",
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
# Errors of ours for what is away and may come back.
_AWAY: Final = (BrokerUnreachable, ExecutorsMissing, FileSystemFailed, JvmNotStarted)
# What Spark says where an executor has gone: its own words for it, those of a task that was just speaking with one, or
# those of the next epoch of real time, which finds less room than the one before.
_EXECUTOR_AWAY: Final = re.compile(
    rf"{_NO_ROOM}|ExecutorLostFailure|FetchFailed|Failed to connect to |Connection reset by peer|Connection from \S+ closed"
    r"|ClosedChannelException|Executor \S+ lost|SparkContext was shut down|stopped SparkContext"
)
# What Hadoop's clients say where a file system is away or takes no writes for now.
_FILES_AWAY: Final = re.compile(
    r"failed on (connection|socket) exception|in safe mode|StandbyException"
)
# The kernel's, where records cannot do without a shuffle.
_MISPLACED: Final = "MisroutedRecordException"
# The kernel's, of exactly once: another owner, and an epoch that is to be computed again.
_TAKEN_OVER: Final = "TakenOverException"
_EPOCH_AGAIN: Final = frozenset({"EpochBrokenException"})
_OUT_OF_MEMORY: Final = frozenset({"OutOfMemoryError", "SparkOutOfMemoryError"})


@dataclass(frozen=True, slots=True)
class Cause:
    """One link of a chain of Java exceptions."""

    class_name: str
    message: str
    error_class: str

    def __str__(self) -> str:
        text = _sentence(self.message)
        return f"{self.class_name}: {text}" if text else self.class_name


def _sentence(message: str) -> str:
    """Return the text of a message: its first lines, without the trace or the plan that follows."""
    lines: list[str] = []
    for line in message.strip().splitlines():
        # Spark breaks long sentences; what is indented or set off is something else.
        if not line.strip() or line[0].isspace() or len(lines) == _LINES_MAX:
            break
        # Advice to set an option of Spark's source, which is not the user's to set.
        if "failOnDataLoss" not in line:
            lines.append(line.strip())
    return " ".join(lines)


def to_query_failed(
    error: BaseException,
    query_id: str,
    log_path: Path | None = None,
    places: Mapping[str, str] | None = None,
) -> QueryFailed:
    """Return `error` as the failure of a query; what PySpark or py4j raised in our words.

    The detail of these names `log_path`, where the JVM says more, and where the user wrote the node
    that failed: `places` has this for nodes by name.
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
            may_pass=away or missing,
            source_missing=missing,
        )
    failed = query_failed(query_id, list(causes_of(error)))
    failed.detail = f"{_written_at(failed.message, places or {})}{failed.detail}"
    if log_path is not None:
        failed.detail = f"{failed.detail} The engine's log is {log_path}.".lstrip()
    return failed


def as_told_of_jvm(error: Exception) -> Exception:
    """Return `error`, or that the JVM has ended, where it has and that is not what `error` tells.

    PySpark has forgotten its JVM by then, and stumbles over None.
    """
    known = (DuologError, PySparkException, Py4JError, OSError)
    return error if isinstance(error, known) else Py4JNetworkError("the JVM has ended")


def _written_at(message: str, places: Mapping[str, str]) -> str:
    """Return a sentence about the place of the node that `message` names, or nothing.

    Example:
        >>> _written_at("cannot process the record at filter-2: /", {"filter-2": "app.py:7"})
        'filter-2 is written at app.py:7. '
    """
    # The kernel's own steps bear the name of the node that they are a part of: filter-2-carry.
    for name in re.findall(r" ([a-z-]+-\d+)(?:-[a-z0-9-]+)?:", message):
        if place := places.get(name):
            return f"{name} is written at {place}. "
    return ""


def taken_over(failed: QueryFailed, by: str) -> QueryFailed:
    """Return the failure of a query whose checkpoint another process has claimed: it is not started again."""
    return QueryFailed(
        f'application "{failed.query_id}" failed: another process writes to its checkpoint',
        query_id=failed.query_id,
        detail=f"It is {by}. {failed.message}.",
        hint=_OTHER_OWNER_HINT,
        error_class=failed.error_class,
    )


def query_failed(query_id: str, causes: list[Cause]) -> QueryFailed:
    """Return the error for a chain of causes, the outermost first."""
    # The kernel names the record; what is behind that says only why.
    named = [_sentence(cause.message) for cause in causes if cause.class_name in _IN_WORDS]
    root = named[-1] if named else causes[-1] if causes else "unknown failure"
    classes = [cause.error_class for cause in causes if cause.error_class]
    # STREAM_FAILED says nothing: every failed query has it.
    telling = [name for name in classes if name != "STREAM_FAILED"] or classes
    if _OTHER_OWNER in telling:
        root = "another process writes to its checkpoint"
    names = {cause.class_name for cause in causes}
    if _OTHER_KERNEL in names:
        root = f"the kernel jar does not fit this Duolog: {root}"
    text = " ".join(f"{cause.error_class} {cause}" for cause in causes)
    cannot = causes[-1].message if causes and causes[-1].class_name in _CANNOT else ""
    return QueryFailed(
        f'application "{query_id}" {_sentence(cannot) or f"failed: {root}"}',
        query_id=query_id,
        detail=f"Spark's error class: {telling[-1]}." if telling else "",
        hint=next((hint for part, hint in _HINTS if part in text), ""),
        error_class=telling[-1] if telling else "",
        may_pass=_TAKEN_OVER not in names
        and (
            not names.isdisjoint(_BROKER_AWAY | _JVM_AWAY | _OUT_OF_MEMORY | _EPOCH_AGAIN)
            or (not named and _EXECUTOR_AWAY.search(text) is not None)
            or (not named and _FILES_AWAY.search(text) is not None)
        ),
        out_of_memory=not names.isdisjoint(_JVM_AWAY | _OUT_OF_MEMORY),
        misplaced=_MISPLACED in names,
    )


def causes_of(error: BaseException) -> Iterator[Cause]:
    """Yield the Java exceptions behind `error`, the outermost first."""
    if isinstance(error, Py4JJavaError):
        yield from _java_causes(error.java_exception)
    elif isinstance(error, PySparkException):
        origin: Any = getattr(error, "_origin", None)
        if origin is not None:
            yield from _java_causes(origin)
        else:
            yield Cause(type(error).__name__, str(error), str(error.getCondition() or ""))
    else:
        yield Cause(type(error).__name__, str(error), "")


def _java_causes(exception: Any) -> Iterator[Cause]:
    for _ in range(_CAUSES_MAX):
        if exception is None:
            return
        class_name = str(exception.getClass().getSimpleName())
        yield Cause(class_name, str(exception.getMessage() or ""), _error_class(exception))
        exception = exception.getCause()


def _error_class(exception: Any) -> str:
    try:
        return str(exception.getCondition() or "")
    except (Py4JError, TypeError):  # not one of Spark's own exceptions
        return ""
