"""The server as a process: opens its port, reads the users, reports that it is ready, serves.

    open the port ─▶ cluster's id ─▶ users ─▶ catalog ─▶ ready line ─▶ serve ─▶ stop
                                                   └─▶ persistent queries, in the background

Standard output gets two lines: `duolog server ready on http://HOST:PORT`, and the address of the
console, `duolog console: URL`, which ends with its token if the server has no users. SIGTERM and
SIGINT stop the server in order: push queries end, other requests in progress are answered, the exit
status is 0; a second signal ends the process at once. SIGHUP reads the certificate again.
"""

import asyncio
import logging
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from duolog.core.clock import SystemClock
from duolog.core.errors import ConfigError
from duolog.core.garbage_collection import LastingObjects
from duolog.core.listening import (
    Address,
    advertised,
    is_loopback,
    open_listener,
    parse_address,
)
from duolog.core.operating_system.limits import raise_descriptors_max
from duolog.ksql.settings import REGISTRY
from duolog.registry.http.hosts import AllowedHosts
from duolog.runtime.administration.administration import Administration
from duolog.runtime.clients.monitor import ClientMonitor
from duolog.runtime.consumer_groups.monitor import GroupMonitor
from duolog.runtime.demo_flights import DemoFlights
from duolog.runtime.server_of_broker import local_url
from duolog.runtime.sql.processing_log import declare
from duolog.runtime.sql.service import DEFAULT_SERVICE, SqlService
from duolog.server.access.console_token import ConsoleToken
from duolog.server.access.server_access import OpenAccess, ServerAccess, UserAccess
from duolog.server.access.visible_service import ensure_runs
from duolog.server.cluster import Cluster
from duolog.server.http.application import application
from duolog.server.http.connections import ALPN
from duolog.server.http.gate import Gate
from duolog.server.http.server import HttpServer
from duolog.server.ksql.service_endpoints import endpoints_of, prepared_of
from duolog.server.limits import DEFAULT_LIMITS, Limits, within_descriptors
from duolog.server.operations.broker_health import BrokerHealth
from duolog.server.operations.changes import Changes
from duolog.server.operations.command_waits import CommandWaits
from duolog.server.operations.context import ServerContext
from duolog.server.operations.events import digests_of
from duolog.server.operations.quick_lookups import QuickLookups
from duolog.server.operations.shares import topic_readers
from duolog.server.operations.workers import Workers
from duolog.server.proxies import behind_proxies, checked_base_path
from duolog.server.schemas.place import RegistryPlace
from duolog.server.stopping import reload_on_signal, stop_on_signals

if TYPE_CHECKING:
    from duolog.registry.access.settings import AccessSettings
    from duolog.registry.http.tls import RegistryTls
    from duolog.registry.store.clients import KafkaOptions
    from duolog.security.clients.brokers import Brokers

logger = logging.getLogger(__name__)

DEFAULT_LISTEN: Final = "127.0.0.1:8088"
_SWITCH_S: Final = 0.0005
"""Switch interval of Python's threads: with Python's default, each thread that reads a table could
delay all requests by 5 ms.
"""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The options given on the command line.

    Attributes:
        brokers: addresses and security of the cluster.
        kafka: the same for clients of librdkafka.
        data: directory for the state of queries.
        properties: properties of all statements, as with SET.
        engine_settings: settings of the Spark engine by name.
        warm: start the JVM with the server, not with the first query.
        base_path: the prefix of all paths, for a proxy that does not remove it.
        advertise: the address that others see; empty for that of `listen`, see `advertised`.
        proxies: addresses and networks of trusted proxies.
        access: the settings of a server with the users of the cluster; None without users.
        hosts: further names under which clients may address this server.
        tls_certificate: a PEM file; the server then speaks HTTPS.
        tls_key: the file of its private key, if that is not in the same file.
        insecure: listen beyond loopback without users or without HTTPS.
        noted: called with the address if others can reach it although it is not safe.
        version: what /info reports.
    """

    brokers: "Brokers"
    kafka: "KafkaOptions"
    data: Path
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    engine_settings: Mapping[str, str] = field(default_factory=dict)
    warm: bool = False
    listen: str = DEFAULT_LISTEN
    advertise: str = ""
    service_id: str = DEFAULT_SERVICE
    base_path: str = ""
    proxies: tuple[str, ...] = ()
    access: "AccessSettings | None" = None
    hosts: tuple[str, ...] = ()
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    insecure: bool = False
    noted: Callable[[list[str]], None] = lambda _: None
    version: str = "unknown"
    limits: Limits = field(default=DEFAULT_LIMITS)


def run(options: ServerOptions, report: Callable[[str], None]) -> int:
    """Run a server until a signal stops it; return the exit status.

    `report` is called with the ready line, and with the line of the console.

    Raises:
        ConfigError: an option cannot be used, or the port is in use.
        KafkaError: no broker answers, or the users cannot be read.
    """
    sys.setswitchinterval(_SWITCH_S)
    limits = within_descriptors(options.limits, raise_descriptors_max())
    options = replace(options, limits=limits)
    base_path = checked_base_path(options.base_path)
    behind_proxies(None, options.proxies)
    tls = _tls(options)
    danger = _danger(authenticated=options.access is not None, encrypted=tls is not None)
    listening = open_listener(
        parse_address(options.listen, option="listen"),
        insecure=options.insecure or not danger,
        secure_hint="Listen on 127.0.0.1; or give --cluster-users and --tls-cert; or accept the "
        "risk with --insecure.",
        danger=danger,
    )
    with listening:
        address = Address(*listening.getsockname()[:2])
        if danger and not is_loopback(address.host):
            exposed = f"SQL server at {address}: {danger}"
            logger.warning("INSECURE: open to the network", extra={"server": exposed})
            options.noted([exposed])
        cluster = Cluster(options.kafka)
        context = _context(options, cluster, advertised(address, options.advertise), base_path)
        try:
            context.access.load()
            context.sql.follow()
            declare(context.sql)
            context.sql.stand_by(context.address)
            context.sql.figures.start(context.address)
            if options.warm:
                context.sql.warm_up()
            return asyncio.run(_serve(options, context, listening, tls, report))
        finally:
            context.access.stop()
            if context.flights is not None:
                context.flights.close()
            context.health.close()
            if context.groups is not None:
                context.groups.close()
            if context.quick is not None:
                context.quick.close()
            context.workers.close()
            context.readers.close()
            context.sql.close()


def _context(
    options: ServerOptions, cluster: Cluster, address: Address, base_path: str
) -> ServerContext:
    clock, limits = SystemClock(), options.limits
    access: ServerAccess
    if options.access is None:
        access = OpenAccess(ConsoleToken.of_directory(options.data, clock))
    else:
        access = UserAccess(options.kafka, options.access, clock, str(address))
    service = SqlService(
        options.brokers,
        data=options.data,
        service_id=options.service_id,
        properties=options.properties,
        engine_settings=options.engine_settings,
        shares=True,
    )
    workers = Workers(limits.workers, limits.waiting_max)
    groups = GroupMonitor(options.brokers, clock)
    return ServerContext(
        version=options.version,
        cluster_id=cluster.id(),
        service_id=options.service_id,
        access=access,
        sql=service,
        ksql=endpoints_of(service, str(address)),
        commands=CommandWaits(service, partial(ensure_runs, service)),
        registry=_registry(service),
        administration=Administration(service.brokers),
        quick=QuickLookups(service, partial(prepared_of, service)),
        workers=workers,
        flights=DemoFlights(service.brokers, options.data / "demo"),
        changes=Changes(digests_of(service), workers),
        readers=Workers(
            # Each request waits for one thread at most, so that no response is cut off.
            limits.readers,
            limits.requests_max,
            reserved_max=limits.unending_max,
            name="readers",
        ),
        topic_readers=topic_readers(limits.topic_readers_max),
        health=BrokerHealth(cluster.answers, clock),
        clients=ClientMonitor(groups.connections),
        groups=groups,
        address=str(address),
        base_path=base_path,
    )


def _registry(service: SqlService) -> RegistryPlace | None:
    address = service.session().state.settings[REGISTRY]
    return None if not address else RegistryPlace.at(address, service.brokers)


async def _serve(
    options: ServerOptions,
    context: ServerContext,
    listening: socket.socket,
    tls: "RegistryTls | None",
    report: Callable[[str], None],
) -> int:
    loop = asyncio.get_running_loop()
    stopping = stop_on_signals(loop)
    if tls is not None:
        reload_on_signal(loop, tls.reload)
    address = Address(*listening.getsockname()[:2])
    own = parse_address(context.address, option="advertise")
    hosts = AllowedHosts([*options.hosts, address.host, own.host])
    gate = Gate(application(context, options.limits), context, hosts, options.limits)
    server = HttpServer(behind_proxies(gate, options.proxies), options.limits, context.counts)
    gate.evict = server.evict_unfinished
    context.access.start(loop)
    await server.start(listening, tls)
    lasting = LastingObjects(SystemClock())
    lasting.start()
    url = f"{'http' if tls is None else 'https'}://{address}{context.base_path}"
    report(f"duolog server ready on {url}")
    report(console_line(url, context.access.console_token))
    logger.info("server is ready", extra={"url": url, "service": context.service_id})
    await stopping.wait()
    logger.info("server stops")
    context.stopping.set()
    if context.ksql is not None:
        # On a thread, so that a second signal is heard meanwhile.
        await asyncio.to_thread(context.ksql.running.interrupt_all)
    await server.stop()
    lasting.stop()
    logger.info("server has stopped")
    return 0


def console_line(url: str, token: ConsoleToken | None) -> str:
    """Return the line with the address of the console, for a browser of this machine."""
    # Browsers do not send what follows # to any server, so that no proxy logs the token.
    return f"duolog console: {local_url(url)}/console" + (f"#token={token.text}" if token else "")


def _tls(options: ServerOptions) -> "RegistryTls | None":
    if options.tls_certificate is None:
        if options.tls_key is not None:
            raise ConfigError(
                "--tls-key is given without --tls-cert", name="tls-cert", hint="Give both."
            )
        return None
    # Loaded here: a server without TLS needs no OpenSSL.
    from duolog.registry.http.tls import RegistryTls  # noqa: PLC0415

    return RegistryTls(options.tls_certificate, options.tls_key, server="server", protocols=ALPN)


def _danger(*, authenticated: bool, encrypted: bool) -> str:
    """Return why the server is not safe beyond loopback; empty if it is."""
    if not authenticated:
        return "clients are not authenticated"
    return "" if encrypted else "passwords are not encrypted"
