import errno
import importlib
import pkgutil

import click
import pytest

import duolog
from duolog.cli.errors import (
    STATUS_OF_ERROR,
    OutputClosed,
    Terminated,
    exit_status,
)
from duolog.core.errors import ConfigError, DuologError, KafkaError
from duolog.log.errors import DataDirInUse
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.sql.errors import CommandDamaged, ServiceInUse


def every_error() -> list[type[DuologError]]:
    """Return the whole tree: all modules called `errors`, so that each package's part is in it."""
    for module in pkgutil.walk_packages(duolog.__path__, "duolog."):
        if module.name.rpartition(".")[2] == "errors":
            importlib.import_module(module.name)
    found: list[type[DuologError]] = []
    waiting = list(DuologError.__subclasses__())
    while waiting:
        found.append(error := waiting.pop())
        waiting += error.__subclasses__()
    return found


def test_every_operating_error_has_an_exit_status() -> None:
    without = [e for e in every_error() if not any(k in STATUS_OF_ERROR for k in e.__mro__)]

    assert without == []


def caused(error: DuologError, cause: OSError) -> DuologError:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (KafkaError("no topic", code=3), 3),
        (KafkaError("topic is there", code=36), 6),
        (KafkaError("no broker", code=-195), 5),
        (KafkaError("something else", code=999), 1),
        (KafkaError("a group got members", code=25), 6),
        (KafkaError("topics are not deleted here", code=73), 4),
        (BrokerUnavailable("no broker"), 5),
        (ServiceInUse("default_", "another"), 6),
        (CommandDamaged("commands", 5, "no JSON"), 1),
        (DataDirInUse("another broker has it"), 6),
        (caused(ConfigError("cannot listen"), OSError(errno.EADDRINUSE, "in use")), 6),
        (caused(ConfigError("cannot listen"), OSError(errno.EACCES, "denied")), 4),
        (caused(ConfigError("cannot listen"), OSError(errno.EADDRNOTAVAIL, "not ours")), 2),
        (click.UsageError("what?"), 2),
        (KeyboardInterrupt(), 130),
        (Terminated(), 143),
        (OutputClosed(), 141),
        (PermissionError(errno.EACCES, "denied", "file"), 4),
        (OSError(errno.EADDRINUSE, "in use"), 6),
        (FileNotFoundError(errno.ENOENT, "none", "file"), 3),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_an_error_ends_the_command_with_its_status(error: BaseException, status: int) -> None:
    assert exit_status(error) == status


def test_an_interruption_within_a_function_of_cpython_is_one() -> None:
    error = SystemError("<built-in function monotonic> returned a result with an exception set")
    error.__cause__ = KeyboardInterrupt()

    assert exit_status(error) == 130
    assert exit_status(SystemError("another")) is None


def test_a_defect_has_no_status_and_keeps_its_traceback() -> None:
    assert exit_status(ZeroDivisionError()) is None
