"""Create the first administrator in a data directory whose broker is not running."""

from pathlib import Path
from typing import Final

from duolog.broker.broker import Broker
from duolog.broker.identity.bootstrap import Administrator, bootstrap, ensure_password
from duolog.broker.settings import BrokerSettings
from duolog.core.clock import SystemClock
from duolog.log.files.disk import RealDisk
from duolog.log.log_manager import LogManager

_TURN_S: Final = 0.05


def bootstrap_data_dir(data_dir: Path, user: str, password: str) -> bool:
    """Create the administrator; return whether it was created: not if there was one before.

    Raises:
        ConfigError: the password is too short.
        LogError: a broker uses the data directory, or it cannot be written.
    """
    ensure_password(password, "--password-file")
    settings, clock = BrokerSettings(), SystemClock()
    log_manager = LogManager(RealDisk(), str(data_dir), clock, settings.values)
    broker = Broker(log_manager=log_manager, clock=clock, settings=settings)
    try:
        broker.security.load()
        return create_administrator(broker, Administrator(user, password))
    finally:
        broker.stop()


def create_administrator(broker: Broker, administrator: Administrator) -> bool:
    """Create the first administrator of a broker that does not serve yet.

    Returns whether it was created. When this returns, it is durable.

    Raises:
        Exception: it could not be stored.
    """
    errors: list[Exception | None] = []
    if not bootstrap(broker.security, administrator, errors.append):
        return False
    while not errors:
        broker.rounds.finish()
        broker.loop.run_once(_TURN_S)
    if errors[0] is not None:
        raise errors[0]
    return True
