"""The broker as a process: opens the data directory, listens, says that it is ready, serves.

Standard output gets one line, `duolog broker ready on HOST:PORT`, once connections are taken.
Log lines go to standard error. SIGTERM and SIGINT stop the broker in order: what was written is
synced, the data directory is marked clean, the exit status is 0.
"""

import gc
import logging
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Final

from duolog.broker.broker import Broker
from duolog.broker.descriptors import open_files_max
from duolog.broker.endpoints import endpoints, open_endpoints
from duolog.broker.log_lines import log_to_stderr
from duolog.broker.settings import BrokerSettings
from duolog.core.clock import SystemClock
from duolog.core.errors import ConfigError
from duolog.log.disk import RealDisk
from duolog.log.log_manager import LogManager

logger = logging.getLogger(__name__)

_COLLECT_AFTER: Final = 20_000
"""Requests make no cycles; a collection at every 700 objects would cost a tenth of the time. One of
20,000 takes 3 ms, and of 50,000 up to 10 ms in which nobody is served."""
_YOUNG_PER_OLD: Final = 100
"""What lives long are topics and connections: to look at all of them again takes 20 ms for 1,000."""


@dataclass(frozen=True, slots=True)
class BrokerOptions:
    """What the command line gives."""

    data_dir: Path
    listen: tuple[str, ...] = ()
    advertise: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


def run(options: BrokerOptions) -> int:
    """Run a broker until a signal stops it; return the exit status.

    Raises:
        ConfigError: a setting or an address cannot be used.
        LogError: the data directory cannot be opened.
    """
    if not __debug__:
        raise ConfigError(
            "the broker does not run under python -O", hint="Its checks are assertions; keep them."
        )
    # kio offers its types to Hypothesis wherever that can be imported, which costs a developer's
    # broker 14 MB and 0.1 s. A broker generates no test data.
    sys.modules.setdefault("hypothesis", None)  # type: ignore[arg-type]
    handler = log_to_stderr()
    try:
        return _serve(options)
    finally:
        logging.getLogger("duolog").removeHandler(handler)


def _serve(options: BrokerOptions) -> int:
    settings = BrokerSettings(options.settings)
    opened = open_endpoints(
        endpoints(settings, options.listen, options.advertise),
        insecure=settings.boolean("allow.insecure.listen"),
        backlog=settings.integer("socket.listen.backlog.size"),
    )
    try:
        clock = SystemClock()
        disk = RealDisk(open_files_max(settings.integer("log.open.files.max")))
        log_manager = LogManager(disk, str(options.data_dir), clock, settings.values)
    except BaseException:
        for endpoint in opened:
            endpoint.listening.close()
        raise
    broker = Broker(log_manager=log_manager, clock=clock, settings=settings)

    def stop(_number: int, _frame: FrameType | None) -> None:
        broker.loop.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    try:
        broker.start(opened)
        if settings.text("durability") == "os":
            logger.warning("durability=os: a power failure may lose acknowledged records")
        gc.freeze()
        gc.set_threshold(_COLLECT_AFTER, _YOUNG_PER_OLD, _YOUNG_PER_OLD)
        print(f"duolog broker ready on {opened[0].bound}", flush=True)  # noqa: T201
        for endpoint in opened:
            logger.info(
                "listener is ready",
                extra={
                    "listener": endpoint.name,
                    "address": str(endpoint.bound),
                    "advertised": str(endpoint.advertised),
                },
            )
        broker.run()
    finally:
        broker.stop()
    logger.info("broker has stopped")
    return 0
