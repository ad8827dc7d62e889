"""The errors of the engine, each with a hint on what to do.

DuologError
├─ ConfigError
│  ├─ JavaMissing            there is no Java, or it is too old for Spark
│  ├─ KernelMissing          the wheel was built without the kernel jar
│  └─ ConnectorMissing       a jar of the Kafka connector is unavailable, or is not the pinned one
└─ QueryError
   ├─ BrokerUnreachable      no broker answers
   │  └─ LeaderMissing       no broker serves a partition
   ├─ SourceTopicMissing     a topic that the topology reads does not exist
   ├─ CheckpointMismatch     the checkpoint belongs to another plan or number of tasks
   ├─ ChangelogMismatch      an internal topic belongs to another topology of this name
   ├─ CheckpointInUse        the application is already running, in this process or another
   ├─ CheckpointNotWritable  this user may not write there, or there is no space
   ├─ FileSystemFailed       the file system of a checkpoint's URL is unreachable or refuses
   ├─ CheckpointDamaged      a file of the checkpoint cannot be read
   ├─ JvmNotStarted          the JVM ended before it was ready; has its output
   ├─ ExecutorsMissing       a Spark cluster provides no executor
   ├─ NotRepartitionable     the state cannot be moved to another number of tasks
   ├─ SlotsMissing           real-time mode does not fit the free slots
   └─ QueryFailed            Spark ended the query; has Spark's error class
      ├─ LogTruncated       a topic is shorter than a stored position in it
      └─ TopicRecreated     a topic was deleted while a query used it
         ├─ ChangelogLost         the changelog of a store
         ├─ ResultTopicRecreated  a topic that it writes
         └─ SourceTopicRecreated  a topic that it reads
"""

from dataclasses import dataclass

from duolog.core.errors import ConfigError, QueryError


class JavaMissing(ConfigError):
    """There is no Java on this machine, or it is too old for Spark."""


class KernelMissing(ConfigError):
    """The kernel jar is not in the installed package."""


class ConnectorMissing(ConfigError):
    """A jar of the Kafka connector is unavailable, or is not the pinned one."""


class BrokerUnreachable(QueryError):
    """No broker answers at the given addresses."""


class LeaderMissing(BrokerUnreachable):
    """A source partition has no leader: its log is damaged, or its broker is down."""


class SourceTopicMissing(QueryError):
    """A topic that the topology reads does not exist."""


class CheckpointMismatch(QueryError):
    """The checkpoint was written by another plan, or with another number of tasks."""


class TopologyChanged(CheckpointMismatch):
    """The stores of the checkpoint belong to another version of the topology."""


class ChangelogsDiffer(CheckpointMismatch):
    """The changelogs that would restore a lost checkpoint belong to another topology."""


class StoresNotKept(CheckpointMismatch):
    """An upgrade cannot keep every store that it must keep."""


class ChangelogMismatch(QueryError):
    """An internal topic belongs to another topology, or to another number of tasks."""


class CheckpointInUse(QueryError):
    """The application is already running on this checkpoint, in this process or another."""


class CheckpointNotWritable(QueryError):
    """Nothing can be written to the checkpoint."""


class FileSystemFailed(QueryError, OSError):
    """The file system at a URL is unreachable or refuses a request.

    An OSError, too, for callers that expect one.
    """

    def __init__(self, message: str, *, path: str, number: int, why: str, hint: str) -> None:
        super().__init__(message, detail=f"{path}: {why}", hint=hint)
        self.errno, self.strerror, self.filename = number, why, path


class CheckpointDamaged(QueryError):
    """A file of the checkpoint cannot be read."""


class JvmNotStarted(QueryError):
    """The JVM ended before it was ready, for example because its memory was not available."""


class ExecutorsMissing(QueryError):
    """A Spark cluster provides no executor, or one that cannot access the checkpoints."""


class NotRepartitionable(QueryError):
    """The state cannot be moved to another number of tasks."""


class SlotsMissing(QueryError):
    """A real-time query holds its slots all the time, and too few are free."""


@dataclass(frozen=True, slots=True)
class FailureKind:
    """The kind of a failure, which decides whether and how the query is restarted."""

    error_class: str = ""
    """Spark's own name for the failure (`KAFKA_DATA_LOSS.…`), or empty."""
    may_pass: bool = False
    """Something is missing that may return: a broker, or the JVM."""
    out_of_memory: bool = False
    """The JVM had too little memory, or ended without an error."""
    source_missing: bool = False
    """A broker does not know a source topic; one that is starting may know it later."""
    by_user: bool = False
    """Someone must change a record, a right, a login or a topic before the query can run."""
    misplaced: bool = False
    """Records of a source topic are not in the partitions of their tasks.

    The next start must shuffle them.
    """


class QueryFailed(QueryError):
    """Spark ended the query."""

    def __init__(
        self,
        message: str,
        *,
        query_id: str = "",
        detail: str = "",
        hint: str = "",
        kind: FailureKind | None = None,
    ) -> None:
        super().__init__(message, query_id=query_id, detail=detail, hint=hint)
        self.kind = kind or FailureKind()


class LogTruncated(QueryFailed):
    """A topic has lost records at its end: a stored position in it no longer exists."""


class TopicRecreated(QueryFailed):
    """A topic was deleted while a query used it."""


class ChangelogLost(TopicRecreated):
    """The changelog of a store was deleted, so later entries alone cannot restore the state."""


class ResultTopicRecreated(TopicRecreated):
    """A result topic was deleted, and created again with the broker's defaults."""


class SourceTopicRecreated(TopicRecreated):
    """A source topic was deleted and created again, so its offsets mean other records."""
