"""Map errors to exit statuses and print them.

0 success · 1 failure · 2 usage error · 3 not found · 4 not allowed · 5 unavailable or timed out
6 conflicts with existing state · 130 Ctrl-C · 141 output closed by its reader · 143 SIGTERM
"""

import errno
import logging
import sys
from typing import Final

import click

from duolog.cli.terminal.logging_setup import emit, emits_json
from duolog.core.errors import (
    ConfigError,
    DuologError,
    EncodingError,
    EngineMissing,
    KafkaError,
    LogError,
    QueryError,
    RegistryError,
    SerdeError,
    ServerError,
    StatementError,
)
from duolog.core.printable import for_stream
from duolog.engine.errors import (
    BrokerUnreachable,
    ChangelogMismatch,
    CheckpointDamaged,
    CheckpointInUse,
    CheckpointMismatch,
    CheckpointNotWritable,
    ConnectorMissing,
    ExecutorsMissing,
    JavaMissing,
    JvmNotStarted,
    KernelMissing,
    LogTruncated,
    NotRepartitionable,
    SourceTopicMissing,
    TopicRecreated,
)
from duolog.protocol.errors import MalformedRequest, UnsupportedRequest
from duolog.runtime.dead_letters.errors import NoDeadLetter, ReplayConflict, ReplayRefused
from duolog.runtime.errors import (
    BrokerUnavailable,
    LoginRefused,
    RegistryUnavailable,
    ServerUnavailable,
)
from duolog.runtime.sql.errors import CommandDamaged, ServiceInUse, ServiceShared
from duolog.schemas.source import UnknownSchemaError

FAILED: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
DENIED: Final = 4
UNAVAILABLE: Final = 5
CONFLICT: Final = 6
INTERRUPTED: Final = 130
OUTPUT_CLOSED: Final = 141
TERMINATED: Final = 143


class Terminated(SystemExit):
    """SIGTERM arrived; like KeyboardInterrupt, not caught by `except Exception`.

    A SystemExit also stops an event loop. If a callback raises another BaseException, the loop logs
    it and continues.
    """

    def __init__(self) -> None:
        super().__init__(TERMINATED)


class OutputClosed(BaseException):
    """The reader of standard output closed it."""


class ClientFailed(DuologError):
    """A client that the demo runs did not read a table."""


class DatasetMissing(DuologError):
    """The data set of the demo is not installed."""


class StateMissing(DuologError):
    """No state of an application with this name exists, or the name is ambiguous."""


class DirectoryNotEmpty(DuologError):
    """The directory for a new project already has content."""


class MirrorConflict(DuologError):
    """The target of a mirror contains something that the mirror must not mix with its copy."""


class MirrorIncomplete(DuologError):
    """Records of the source are not in the copy."""


class MirrorMismatch(DuologError):
    """The copy does not contain exactly the records of its source."""


class CorrectionsFailed(DuologError):
    """Dead letters were not replayed because their corrections failed."""


class NotServed(DuologError):
    """No application serves metrics at the given address."""


STATUS_OF_ERROR: Final[dict[type[DuologError], int]] = {
    NotServed: UNAVAILABLE,
    BrokerUnavailable: UNAVAILABLE,
    BrokerUnreachable: UNAVAILABLE,
    ChangelogMismatch: CONFLICT,
    CheckpointDamaged: FAILED,
    CheckpointInUse: CONFLICT,
    CheckpointMismatch: CONFLICT,
    CheckpointNotWritable: DENIED,
    ClientFailed: FAILED,
    CommandDamaged: FAILED,
    ConfigError: USAGE,
    CorrectionsFailed: FAILED,
    ConnectorMissing: FAILED,
    DatasetMissing: NOT_FOUND,
    DirectoryNotEmpty: CONFLICT,
    EncodingError: USAGE,
    EngineMissing: FAILED,
    ExecutorsMissing: UNAVAILABLE,
    JavaMissing: FAILED,
    JvmNotStarted: FAILED,
    KernelMissing: FAILED,
    KafkaError: FAILED,
    LogError: FAILED,
    LoginRefused: DENIED,
    LogTruncated: CONFLICT,
    MalformedRequest: FAILED,
    MirrorConflict: CONFLICT,
    MirrorIncomplete: FAILED,
    MirrorMismatch: FAILED,
    NoDeadLetter: NOT_FOUND,
    NotRepartitionable: CONFLICT,
    QueryError: FAILED,
    RegistryError: FAILED,
    ReplayConflict: CONFLICT,
    ReplayRefused: NOT_FOUND,
    ServerError: FAILED,
    RegistryUnavailable: UNAVAILABLE,
    ServerUnavailable: UNAVAILABLE,
    SerdeError: FAILED,
    ServiceInUse: CONFLICT,
    ServiceShared: CONFLICT,
    SourceTopicMissing: NOT_FOUND,
    TopicRecreated: CONFLICT,
    StateMissing: NOT_FOUND,
    StatementError: USAGE,
    UnknownSchemaError: NOT_FOUND,
    UnsupportedRequest: FAILED,
}

# Positive numbers are Kafka's `Errors`; negative ones are librdkafka's own.
_STATUS_OF_KAFKA_CODE: Final = {
    3: NOT_FOUND,  # UNKNOWN_TOPIC_OR_PARTITION
    5: UNAVAILABLE,  # LEADER_NOT_AVAILABLE
    6: UNAVAILABLE,  # NOT_LEADER_OR_FOLLOWER
    7: UNAVAILABLE,  # REQUEST_TIMED_OUT
    8: UNAVAILABLE,  # BROKER_NOT_AVAILABLE
    13: UNAVAILABLE,  # NETWORK_EXCEPTION
    14: UNAVAILABLE,  # COORDINATOR_LOAD_IN_PROGRESS
    15: UNAVAILABLE,  # COORDINATOR_NOT_AVAILABLE
    16: UNAVAILABLE,  # NOT_COORDINATOR
    17: USAGE,  # INVALID_TOPIC_EXCEPTION
    24: USAGE,  # INVALID_GROUP_ID
    25: CONFLICT,  # UNKNOWN_MEMBER_ID: a group got members while its offsets were moved
    27: CONFLICT,  # REBALANCE_IN_PROGRESS
    29: DENIED,  # TOPIC_AUTHORIZATION_FAILED
    30: DENIED,  # GROUP_AUTHORIZATION_FAILED
    31: DENIED,  # CLUSTER_AUTHORIZATION_FAILED
    36: CONFLICT,  # TOPIC_ALREADY_EXISTS
    37: USAGE,  # INVALID_PARTITIONS
    38: USAGE,  # INVALID_REPLICATION_FACTOR
    40: USAGE,  # INVALID_CONFIG
    41: UNAVAILABLE,  # NOT_CONTROLLER
    42: USAGE,  # INVALID_REQUEST
    44: DENIED,  # POLICY_VIOLATION
    53: DENIED,  # TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    56: UNAVAILABLE,  # KAFKA_STORAGE_ERROR
    58: DENIED,  # SASL_AUTHENTICATION_FAILED
    68: CONFLICT,  # NON_EMPTY_GROUP
    69: NOT_FOUND,  # GROUP_ID_NOT_FOUND
    73: DENIED,  # TOPIC_DELETION_DISABLED
    86: CONFLICT,  # GROUP_SUBSCRIBED_TO_TOPIC
    91: NOT_FOUND,  # RESOURCE_NOT_FOUND
    92: CONFLICT,  # DUPLICATE_RESOURCE
    100: NOT_FOUND,  # UNKNOWN_TOPIC_ID
    -169: DENIED,  # _AUTHENTICATION
    -185: UNAVAILABLE,  # _TIMED_OUT
    -186: USAGE,  # _INVALID_ARG
    -187: UNAVAILABLE,  # _ALL_BROKERS_DOWN
    -188: NOT_FOUND,  # _UNKNOWN_TOPIC
    -190: NOT_FOUND,  # _UNKNOWN_PARTITION
    -192: UNAVAILABLE,  # _MSG_TIMED_OUT
    -193: UNAVAILABLE,  # _RESOLVE
    -195: UNAVAILABLE,  # _TRANSPORT
}

_HTTP_STATUSES: Final = 1000
# The status of HTTP is the registry's error code or its first three digits.
_STATUS_OF_REGISTRY_CODE: Final = {
    400: USAGE,
    401: DENIED,
    403: DENIED,
    404: NOT_FOUND,
    409: CONFLICT,
    422: USAGE,
    42205: DENIED,  # the mode of the subject does not allow it
    42206: CONFLICT,  # another schema refers to it
    503: UNAVAILABLE,
}

_STATUS_OF_INTERRUPTION: Final[dict[type[BaseException], int]] = {
    KeyboardInterrupt: INTERRUPTED,
    click.Abort: INTERRUPTED,
    Terminated: TERMINATED,
    OutputClosed: OUTPUT_CLOSED,
    BrokenPipeError: OUTPUT_CLOSED,
}

_STATUS_OF_ERRNO: Final = {
    errno.ENOENT: NOT_FOUND,
    errno.EACCES: DENIED,
    errno.EPERM: DENIED,
    errno.EROFS: DENIED,
    errno.EEXIST: CONFLICT,
    errno.EADDRINUSE: CONFLICT,
    errno.ECONNREFUSED: UNAVAILABLE,
    errno.ETIMEDOUT: UNAVAILABLE,
}


def exit_status(error: BaseException) -> int | None:
    """Return the exit status for `error`, or None for a defect, which needs its traceback."""
    match error:
        case DuologError():
            return _status_of_operating_error(error)
        case click.exceptions.Exit(exit_code=code) | click.ClickException(exit_code=code):
            return int(code)
        case OSError() if not isinstance(error, BrokenPipeError):
            return _STATUS_OF_ERRNO.get(error.errno or 0, FAILED)
        case SystemError(__cause__=KeyboardInterrupt() as interruption):
            # Ctrl-C inside a C function that does not check for signals.
            return exit_status(interruption)
        case _:
            return next(
                (s for kind, s in _STATUS_OF_INTERRUPTION.items() if isinstance(error, kind)), None
            )


def _status_of_operating_error(error: DuologError) -> int:
    if isinstance(error, KafkaError) and error.code in _STATUS_OF_KAFKA_CODE:
        return _STATUS_OF_KAFKA_CODE[error.code]
    # Several classes have the code; importing the client of registries would cost each command.
    if isinstance(error, RegistryError) and isinstance(code := getattr(error, "code", None), int):
        status = code if code < _HTTP_STATUSES else code // 100
        found = _STATUS_OF_REGISTRY_CODE.get(code) or _STATUS_OF_REGISTRY_CODE.get(status)
        return found or FAILED
    if isinstance(error, LogError) and _is_in_use(error):
        return CONFLICT
    if type(error) is ConfigError and isinstance(error.__cause__, OSError):
        # For example an address with valid syntax that the system refuses.
        return _STATUS_OF_ERRNO.get(error.__cause__.errno or 0, USAGE)
    return next(STATUS_OF_ERROR[kind] for kind in type(error).__mro__ if kind in STATUS_OF_ERROR)


def _is_in_use(error: LogError) -> bool:
    # Imported here: only commands that use the log need it, and have loaded it already.
    from duolog.log.errors import DataDirInUse  # noqa: PLC0415

    return isinstance(error, DataDirInUse)


def report(error: BaseException) -> None:
    """Print `error` to standard error; print nothing for a signal or a closed pipe."""
    match error:
        case click.ClickException() if emits_json():
            usage = (
                error.ctx.get_usage() if isinstance(error, click.UsageError) and error.ctx else ""
            )
            told = {"hint": usage} if usage else {}
            emit(error.format_message(), level=logging.ERROR, **told)
        case click.ClickException():
            error.show()
        case DuologError() if emits_json():
            hints = {"detail": error.detail, "hint": error.hint}
            told = {name: text for name, text in hints.items() if text}
            emit(error.message, level=logging.ERROR, **told)
        case DuologError():
            click.secho("error: ", fg="red", bold=True, nl=False, err=True)
            click.echo(for_stream(error.render(), sys.stderr), err=True)
        case OSError() if not isinstance(error, BrokenPipeError):
            what = f'{error.strerror or error} "{error.filename}"' if error.filename else str(error)
            if emits_json():
                emit(what, level=logging.ERROR)
                return
            click.secho("error: ", fg="red", bold=True, nl=False, err=True)
            click.echo(for_stream(what, sys.stderr), err=True)
        case _:
            sys.stderr.flush()
