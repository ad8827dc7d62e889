"""The broker as a process: opens the data directory, listens, says that it is ready, serves.

Standard output gets one line, `duolog broker ready on HOST:PORT`, once connections are taken.
Log lines go to standard error. SIGTERM and SIGINT stop the broker in order: what was written is
synced, the data directory is marked clean, the exit status is 0; a second one ends the process at
once, and the next start recovers. SIGUSR1 turns the request log on and off. SIGHUP loads the
certificates of listeners with TLS again.

Partitions are opened before objects are frozen, because the garbage collector hardly ever visits
old objects. Other long-lived objects (connections, topics, fetch sessions) must leave no reference
cycle when they are closed.
"""

import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import TYPE_CHECKING, Final

from duolog.broker.bootstrapping import create_administrator
from duolog.broker.broker import Broker
from duolog.broker.companion import Beside, Companion, beside
from duolog.broker.identity.bootstrap import Administrator, administrator_of
from duolog.broker.log_format import log_to_stderr
from duolog.broker.network.endpoints import WITH_SASL, OpenEndpoint, endpoints, open_endpoints
from duolog.broker.network.file_descriptors import open_files_max
from duolog.broker.network.start_checks import ensure_rights_mean_users
from duolog.broker.network.tls_listeners import TlsListeners
from duolog.broker.requests.request_log import RequestLog
from duolog.broker.settings import BrokerSettings, without_effect
from duolog.core.clock import Clock, SystemClock
from duolog.core.errors import ConfigError
from duolog.core.listening import is_loopback
from duolog.core.operating_system.support import ensure_broker_supported
from duolog.log.backup.log_source import remove_left_names
from duolog.log.files.disk import Disk, RealDisk
from duolog.log.log_manager import LogManager
from duolog.security.logins.inner import INNER_LISTENER

if TYPE_CHECKING:
    from duolog.broker.metrics.http import MetricsEndpoint
    from duolog.broker.schema_checks.registered import OpenRegistry

logger = logging.getLogger(__name__)

_FAILED: Final = 1
_SIGNALLED: Final = 128
"""A shell adds it to the number of the signal that ended a process."""

_SWITCH_S: Final = 0.0005
"""Switch interval of Python's threads: a thread that decodes next to the event loop yields to it
after this time. Clients notice Python's default of 5 ms.
"""
_COLLECT_AFTER: Final = 10_000
"""Requests create no reference cycles, and a collection every 700 objects would cost a tenth of the
time. A collection of 10,000 objects takes 2 ms; one of 50,000 would block requests up to 10 ms.
"""
_YOUNG_PER_MIDDLE: Final = 2
"""Survivors are scanned again with the next two collections: 30,000 objects take 10 ms. With a
hundred, a request for a million partitions would block the broker for a third of a second.
"""
_MIDDLE_PER_OLD: Final = 1000
"""Topics, connections and groups are long-lived. Topics and loaded groups are frozen: the collector
ignores them. All others are scanned once every 30 million objects or so.
"""


@dataclass(frozen=True, slots=True)
class BrokerOptions:
    """The options given on the command line."""

    data_dir: Path
    listen: tuple[str, ...] = ()
    advertise: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    passed_over: tuple[str, ...] = ()
    """Settings of older Kafkas that were given, too."""


def _nothing(_broker: Broker) -> None:
    return


@dataclass(frozen=True, slots=True)
class Edges:
    """The clock, the disk and the connections of a broker, which a test may replace."""

    clock: Clock = field(default_factory=SystemClock)
    open_disk: Callable[[int], Disk] = RealDisk
    """Called with the number of segment files that may be open."""
    made: Callable[[Broker], None] = _nothing
    """Called with the broker before it starts."""
    insecure: Callable[[Sequence[str]], None] = lambda _: None
    """Called with the addresses that others can reach although it is not safe, if any."""
    companion: Companion | None = None
    """Started after the ready line, and stopped before the broker."""
    administrator: Administrator | None = None
    """The first administrator, created unless there is one; the environment's comes first."""
    open_registry: "OpenRegistry | None" = None
    """Returns the schema registry that knows the schema ids of records, if there is one."""


def run(options: BrokerOptions, edges: Edges | None = None) -> int:
    """Run a broker until a signal stops it; return the exit status.

    Raises:
        ConfigError: a setting or an address cannot be used, or this is Windows.
        LogError: the data directory cannot be opened.
    """
    ensure_broker_supported()
    if not __debug__:
        raise ConfigError(
            "the broker does not run under python -O", hint="Its checks are assertions; keep them."
        )
    # kio offers its types to Hypothesis wherever that can be imported, which costs a developer's
    # broker 14 MB and 0.1 s. A broker generates no test data.
    sys.modules.setdefault("hypothesis", None)  # type: ignore[arg-type]
    sys.setswitchinterval(_SWITCH_S)
    if sys.platform != "win32":
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # Until there is a log to turn on.
    settings = BrokerSettings(options.settings)
    handler = log_to_stderr(settings.text("logging.format"), settings.text("logging.level"))
    if inert := sorted({*without_effect(options.settings), *options.passed_over}):
        logger.warning("settings have no effect here", extra={"settings": ",".join(inert)})
    try:
        return _serve(options, settings, edges or Edges())
    finally:
        logging.getLogger("duolog").removeHandler(handler)


def _serve(options: BrokerOptions, settings: BrokerSettings, edges: Edges) -> int:
    with ExitStack() as opened:
        insecure = settings.boolean("allow.insecure.listen")
        metrics = _open_metrics(settings, insecure=insecure)
        if metrics is not None:
            opened.callback(metrics.close)
        listeners = open_endpoints(
            endpoints(settings, options.listen, options.advertise),
            insecure=insecure,
            backlog=settings.integer("socket.listen.backlog.size"),
        )
        for endpoint in listeners:
            opened.callback(endpoint.listening.close)
        ensure_rights_mean_users(settings, listeners, insecure=insecure)
        tls = TlsListeners(settings, listeners)
        companion = None
        if edges.companion is not None:
            companion = beside(edges.companion, listeners, settings)
            opened.callback(companion.endpoint.listening.close)
        disk = edges.open_disk(open_files_max(settings.integer("log.open.files.max")))
        log_manager = LogManager(disk, str(options.data_dir), edges.clock, settings.values)
        remove_left_names(disk, str(options.data_dir))
        broker = Broker(
            log_manager=log_manager,
            clock=edges.clock,
            settings=settings,
            open_registry=edges.open_registry,
        )
        edges.made(broker)
        if exposed := _exposed(listeners, metrics):
            edges.insecure(exposed)
        try:
            _create_administrator(broker, administrator_of() or edges.administrator)
        except BaseException:
            broker.stop()
            raise
        return _run(broker, listeners, tls, metrics, companion)


def _create_administrator(broker: Broker, administrator: Administrator | None) -> None:
    """Create the first administrator if one is named, before the broker listens."""
    broker.security.load()
    if administrator is not None:
        create_administrator(broker, administrator)


def _open_metrics(settings: BrokerSettings, *, insecure: bool) -> "MetricsEndpoint | None":
    if not settings.text("metrics.listen"):
        return None
    # Loaded here: a broker without it needs no HTTP.
    from duolog.broker.metrics.opening import open_metrics  # noqa: PLC0415

    return open_metrics(settings, insecure=insecure)


def _asks_for_logins(endpoint: OpenEndpoint) -> bool:
    return endpoint.protocol in WITH_SASL and endpoint.name != INNER_LISTENER


def _run(
    broker: Broker,
    listeners: Sequence[OpenEndpoint],
    tls: TlsListeners,
    metrics: "MetricsEndpoint | None",
    companion: Beside | None,
) -> int:
    request_log = RequestLog(*(router.routes for router in broker.entrances.all()))
    if broker.settings.boolean("logging.requests"):
        request_log.toggle()
    stopping = _Stopping(broker, None if companion is None else companion.companion)
    _handle_signals(broker, request_log, stopping, tls)
    try:
        _start(broker, listeners, tls, companion)
        if broker.settings.text("durability") == "os":
            logger.warning("durability=os: a power failure may lose acknowledged records")
        if not broker.schemas.available and any(one.config.schema_checks for one in broker.topics):
            logger.warning("topics check schema ids, but the broker has no schema registry")
        if not broker.security.has_logins and any(map(_asks_for_logins, broker.endpoints)):
            logger.warning(
                "no user can log in: stop the broker, and create the first administrator with "
                "`duolog users bootstrap`"
            )
        gc.freeze()
        gc.set_threshold(_COLLECT_AFTER, _YOUNG_PER_MIDDLE, _MIDDLE_PER_OLD)
        if metrics is not None:
            metrics.attach(broker)
            logger.info("serving metrics", extra={"address": str(metrics.address)})
        print(f"duolog broker ready on {listeners[0].bound}", flush=True)  # noqa: T201
        for exposed in _exposed(listeners, metrics):
            logger.warning("INSECURE: open to the network", extra={"server": exposed})
        for endpoint in broker.endpoints:
            logger.info(
                "listener is ready",
                extra={
                    "listener": endpoint.name,
                    "protocol": endpoint.protocol,
                    "address": str(endpoint.bound),
                    "advertised": str(endpoint.advertised),
                },
            )
        if companion is not None:
            companion.start(stopping.fail)
        broker.run()
        logger.info("broker stops")
    finally:
        if metrics is not None:
            metrics.detach()
        broker.stop()
    logger.info("broker has stopped")
    return _FAILED if stopping.failed else 0


def _start(
    broker: Broker,
    listeners: Sequence[OpenEndpoint],
    tls: TlsListeners,
    companion: Beside | None,
) -> None:
    if companion is None or companion.login is None:
        broker.start(listeners, tls)
    else:
        broker.security.admit(companion.login)
        broker.start([*listeners, companion.endpoint], tls)


def _exposed(listeners: Sequence[OpenEndpoint], metrics: "MetricsEndpoint | None") -> list[str]:
    """Return the addresses that others can reach although it is not safe, and why it is not."""
    found = [
        f"broker, listener {row.name} at {row.bound}: {row.danger}"
        for row in listeners
        if row.insecure
    ]
    if metrics is not None and metrics.danger and not is_loopback(metrics.address.host):
        found.append(f"broker, metrics at {metrics.address}: {metrics.danger}")
    return found


class _Stopping:
    """Ends the loop of a broker, after its companion."""

    def __init__(self, broker: Broker, companion: Companion | None) -> None:
        self._broker = broker
        self._companion = companion
        self._begun = False
        self.failed = False

    def signalled(self, number: int, _frame: FrameType | None) -> None:
        if self._begun:
            # A second signal means that the user does not want to wait: the next start recovers
            # what is not closed.
            os._exit(_SIGNALLED + number)
        self._begun = True
        if self._companion is None:
            self._broker.loop.stop()
        else:
            # The companion is a client of the loop, which must serve it to its end.
            Thread(target=self._stop_both, args=(self._companion,), daemon=True).start()

    def fail(self) -> None:
        """Stop the broker because its companion did not start."""
        self.failed = True
        self._broker.loop.stop()

    def _stop_both(self, companion: Companion) -> None:
        companion.stop()
        self._broker.loop.stop()


def _handle_signals(
    broker: Broker, request_log: RequestLog, stopping: _Stopping, tls: TlsListeners
) -> None:

    def toggle(_number: int, _frame: FrameType | None) -> None:
        broker.loop.call_soon_threadsafe(request_log.toggle)

    def reload(_number: int, _frame: FrameType | None) -> None:
        broker.loop.call_soon_threadsafe(tls.reload)

    signal.signal(signal.SIGTERM, stopping.signalled)
    signal.signal(signal.SIGINT, stopping.signalled)
    if sys.platform != "win32":
        signal.signal(signal.SIGUSR1, toggle)
        if any(True for _ in tls):
            signal.signal(signal.SIGHUP, reload)
    broker.loop.wake_on_signals()
