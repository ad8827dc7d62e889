"""Create or recover an administrator in a data directory whose broker is not running."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from duolog.broker.broker import Broker
from duolog.broker.identity.bootstrap import Administrator, bootstrap, ensure_password, recover
from duolog.broker.identity.security_log import Done
from duolog.broker.settings import BrokerSettings
from duolog.core.clock import SystemClock
from duolog.core.errors import ConfigError
from duolog.log.files.disk import RealDisk
from duolog.log.log_manager import LogManager

_TURN_S: Final = 0.05
_META: Final = "meta.properties"


def bootstrap_data_dir(data_dir: Path, user: str, password: str) -> bool:
    """Create the administrator; return whether it was created: not if there was one before.

    Raises:
        ConfigError: the password is too short.
        LogError: a broker uses the data directory, or it cannot be written.
    """
    with _unserved(data_dir, password) as broker:
        return create_administrator(broker, Administrator(user, password))


def recover_data_dir(data_dir: Path, user: str, password: str) -> None:
    """Make a user an administrator with this password, also if there are others.

    Raises:
        ConfigError: the password is too short, or the directory is not a broker's.
        LogError: a broker uses the data directory, or it cannot be written.
    """
    if not (data_dir / _META).is_file():
        raise ConfigError(
            f'directory "{data_dir}" is not the data directory of a broker',
            value=str(data_dir),
            detail=f"It has no file {_META}.",
            hint="Name the directory that `duolog broker --data` uses.",
        )
    with _unserved(data_dir, password) as broker:
        _wait(broker, lambda done: recover(broker.security, Administrator(user, password), done))


@contextmanager
def _unserved(data_dir: Path, password: str) -> Iterator[Broker]:
    """Open the broker of a data directory, with its users, but without listeners."""
    ensure_password(password, "--password-file")
    settings, clock = BrokerSettings(), SystemClock()
    log_manager = LogManager(RealDisk(), str(data_dir), clock, settings.values)
    broker = Broker(log_manager=log_manager, clock=clock, settings=settings)
    try:
        broker.security.load()
        yield broker
    finally:
        broker.stop()


def create_administrator(broker: Broker, administrator: Administrator) -> bool:
    """Create the first administrator of a broker that does not serve yet.

    Returns whether it was created. When this returns, it is durable.

    Raises:
        Exception: it could not be stored.
    """
    return _wait(broker, lambda done: bootstrap(broker.security, administrator, done))


def _wait(broker: Broker, begin: Callable[[Done], bool | None]) -> bool:
    """Begin a change and wait until it is durable; return False if it changes nothing."""
    errors: list[Exception | None] = []
    if begin(errors.append) is False:
        return False
    while not errors:
        broker.rounds.finish()
        broker.loop.run_once(_TURN_S)
    if errors[0] is not None:
        raise errors[0]
    return True
