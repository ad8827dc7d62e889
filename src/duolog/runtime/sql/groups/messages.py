"""Messages between the server and the process of a group.

    server ─▶ process   brokers, settings, secrets     first, on the pipe of its standard input
                        {"id": 1, "do": "start", "query": "CSAS_LATE_0", "offset": 12}
                        {"id": 2, "do": "stop", "run": 1}
                        {"id": 3, "do": "progress", "run": 1}    or "metrics"
    process ─▶ server   {"id": 1, "result": {"run": 1}}
                        {"id": 2, "error": {"message": …, "detail": …, "hint": …, "kind": {}}}
                        {"jvm_silent_s": 0.2, "runs": {"1": {"state": …, "ended": …, "error": …}}}
                        {"ending": "The JVM …"}       last

The beats contain the last two runs of each query at least; numbers of runs only grow.
The process replays the command topic up to `offset`, as each server does, so that no plan is sent.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path

from duolog.core.errors import DuologError, QueryError
from duolog.engine.errors import FailureKind, QueryFailed
from duolog.engine.query.reports.progress import Progress, Skipped
from duolog.runtime.sql.groups.frames import Message
from duolog.runtime.sql.persistent.spark_queries import SparkQuerySettings
from duolog.security.clients.brokers import Brokers


@dataclass(frozen=True, slots=True)
class Setup:
    """Everything that the process of a group needs to run queries of a service."""

    group: str
    service_id: str
    brokers: Brokers
    queries: SparkQuerySettings
    registry: str | None = None
    """Address of the schema registry now."""
    registry_users: dict[str, str] = field(default_factory=dict, repr=False)
    """Users of registries as `name:password`, by address."""
    module_path: tuple[str, ...] = ()
    """Directories in which modules of user-defined functions are found."""
    nice: int = 0

    def encode(self) -> Message:
        """Encode it; the result has secrets."""
        message = asdict(self)
        message["queries"]["data"] = str(self.queries.data)
        message["queries"]["settings"] = dict(self.queries.settings)
        return message

    @classmethod
    def decode(cls, message: Message) -> "Setup":
        """Decode a setup.

        Raises:
            KeyError, TypeError, ValueError: it is invalid.
        """
        brokers, queries = message["brokers"], message["queries"]
        return cls(
            **message
            | {
                "brokers": Brokers.from_json(brokers),
                "queries": SparkQuerySettings(**queries | {"data": Path(queries["data"])}),
                "module_path": tuple(message["module_path"]),
            }
        )


def encode_error(error: Exception) -> Message:
    """Encode an error; those of libraries have only a message."""
    if isinstance(error, DuologError):
        kind = error.kind if isinstance(error, QueryFailed) else FailureKind()
        texts = {"message": error.message, "detail": error.detail, "hint": error.hint}
        return texts | {"kind": asdict(kind)}
    return {"message": str(error) or type(error).__name__, "detail": "", "hint": "", "kind": {}}


def decode_error(message: Message) -> QueryError:
    """Decode an error."""
    return QueryFailed(
        str(message["message"]),
        detail=str(message["detail"]),
        hint=str(message["hint"]),
        kind=FailureKind(**message["kind"]),
    )


def encode_progress(progress: Progress) -> Message:
    """Encode the progress of a query."""
    return asdict(progress)


def decode_progress(message: Message) -> Progress:
    """Decode the progress of a query."""
    because = tuple(Skipped(**one) for one in message["skipped_because"])
    return Progress(**message | {"skipped_because": because})
