"""What can go wrong in the engine, each with what to do about it.

DuologError
├─ ConfigError
│  ├─ JavaMissing            no Java, or one that is too old for Spark
│  ├─ KernelMissing          the wheel was built without the kernel jar
│  └─ ConnectorMissing       a jar of the Kafka connector cannot be had, or is not the pinned one
└─ QueryError
   ├─ BrokerUnreachable      no broker answers
   │  └─ LeaderMissing       no broker serves a partition
   ├─ SourceTopicMissing     a topic that the topology reads does not exist
   ├─ CheckpointMismatch     the checkpoint belongs to another plan or number of tasks
   ├─ ChangelogMismatch      an internal topic belongs to another topology of this name
   ├─ CheckpointInUse        the application runs already, in this process or another
   ├─ CheckpointNotWritable  this user may not write there, or there is no space
   ├─ FileSystemFailed       what a checkpoint is on behind an URL is away, or refuses
   ├─ CheckpointDamaged      a file of the checkpoint cannot be read
   ├─ JvmNotStarted          the JVM ended before it was ready; keeps what it said
   ├─ ExecutorsMissing       a Spark cluster gives no executor
   ├─ NotRepartitionable     its state cannot be given to another number of tasks
   ├─ SlotsMissing           real-time mode does not fit the free slots
   └─ QueryFailed            Spark ended the query; keeps Spark's error class
      ├─ LogTruncated       a topic is shorter than a position in it that is kept elsewhere
      └─ TopicRecreated     a topic of its own was deleted under it
         ├─ ChangelogLost         the changelog of a store
         ├─ ResultTopicRecreated  one that it writes
         └─ SourceTopicRecreated  one that it reads
"""

from duolog.core.errors import ConfigError, QueryError


class JavaMissing(ConfigError):
    """There is no Java on this machine, or one that is too old for Spark."""


class KernelMissing(ConfigError):
    """The kernel jar is not where the package keeps it."""


class ConnectorMissing(ConfigError):
    """A jar of the Kafka connector cannot be had, or is not the one that was pinned."""


class BrokerUnreachable(QueryError):
    """No broker answers at the given addresses."""


class LeaderMissing(BrokerUnreachable):
    """A partition that the topology reads has no leader: its log is damaged, or its broker is away."""


class SourceTopicMissing(QueryError):
    """A topic that the topology reads does not exist."""


class CheckpointMismatch(QueryError):
    """The checkpoint was written by another plan, or with another number of tasks."""


class TopologyChanged(CheckpointMismatch):
    """The stores of the checkpoint are those of another version of the topology."""


class StoresNotKept(CheckpointMismatch):
    """An upgrade cannot keep each store that it is to keep."""


class ChangelogMismatch(QueryError):
    """An internal topic was made for another topology, or with another number of tasks."""


class CheckpointInUse(QueryError):
    """The application runs already on this checkpoint, in this process or another."""


class CheckpointNotWritable(QueryError):
    """Nothing can be written to the checkpoint."""


class FileSystemFailed(QueryError, OSError):
    """The file system behind a URL is away, or refuses what is asked of it: an error of the system, for who expects one."""

    def __init__(self, message: str, *, path: str, number: int, why: str, hint: str) -> None:
        super().__init__(message, detail=f"{path}: {why}", hint=hint)
        self.errno, self.strerror, self.filename = number, why, path


class CheckpointDamaged(QueryError):
    """A file of the checkpoint cannot be read."""


class JvmNotStarted(QueryError):
    """The JVM ended before it was ready: its memory was not to be had, say."""


class ExecutorsMissing(QueryError):
    """A Spark cluster gives no executor, or one that does not see the checkpoints."""


class NotRepartitionable(QueryError):
    """State that cannot be given to another number of tasks."""


class SlotsMissing(QueryError):
    """A real-time query holds its slots all the time, and there are not enough free ones."""


class QueryFailed(QueryError):
    """Spark ended the query.

    `error_class` is Spark's own name for the failure (`KAFKA_DATA_LOSS.…`), empty where it has none.
    `may_pass` is true where something is missing that may come back: a broker, or the JVM.
    `out_of_memory` is true where the JVM had too little of it, or ended without a word.
    `source_missing` is true if a broker does not know a source topic: one that is starting may know it later.
    `misplaced` is true where a source topic's records are not in the partitions of their tasks, and
    the next start is to shuffle them.
    """

    def __init__(
        self,
        message: str,
        *,
        query_id: str = "",
        detail: str = "",
        hint: str = "",
        error_class: str = "",
        may_pass: bool = False,
        out_of_memory: bool = False,
        source_missing: bool = False,
        misplaced: bool = False,
    ) -> None:
        super().__init__(message, query_id=query_id, detail=detail, hint=hint)
        self.error_class = error_class
        self.may_pass = may_pass
        self.out_of_memory = out_of_memory
        self.source_missing = source_missing
        self.misplaced = misplaced


class LogTruncated(QueryFailed):
    """A topic has lost records at its end: a position in it that is kept elsewhere is not there any more."""


class TopicRecreated(QueryFailed):
    """A topic was deleted while a query runs that needs it."""


class ChangelogLost(TopicRecreated):
    """The changelog of a store was deleted under it: what is written from then on does not bring the state back."""


class ResultTopicRecreated(TopicRecreated):
    """A topic that the topology writes was deleted under it, and came back as the broker makes topics."""


class SourceTopicRecreated(TopicRecreated):
    """A topic that the topology reads was deleted and made anew: its offsets mean other records."""
