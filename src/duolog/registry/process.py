"""The registry as a process: reads its topic, listens, says that it is ready, serves.

    open the port ─► create or check the topic ─► read it to its end ─► ready line ─► serve
                                                                          └─► join the group

Reads are answered from the ready line on. Writes that come before there is a leader wait for it.
Standard output gets one line, `duolog registry ready on http://HOST:PORT`. SIGTERM and SIGINT stop
the registry in order: requests in progress are answered, the leadership is given back, the exit
status is 0; a second signal ends the process at once. SIGHUP reads the users file and the
certificate again.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from duolog.core.errors import ConfigError
from duolog.core.listening import Address, is_loopback, open_listener, parse_address
from duolog.core.operating_system.limits import raise_descriptors_max
from duolog.registry.access.server_access import ClusterAccess, FileAccess, ServerAccess
from duolog.registry.election.election import SESSION_S, Election
from duolog.registry.election.leaders import Leaders
from duolog.registry.errors import DamagedRecordError
from duolog.registry.http.gate import Gate
from duolog.registry.http.hosts import AllowedHosts
from duolog.registry.http.server import HttpServer, connections_max
from duolog.registry.json_text import Json
from duolog.registry.records import BARRIER, encode
from duolog.registry.rules import Registry, RulesSettings
from duolog.registry.service.leadership import Leadership
from duolog.registry.service.replica import Replica
from duolog.registry.service.service import Impact, RegistryService
from duolog.registry.store.clients import KafkaOptions
from duolog.registry.store.errors import RecordDamaged
from duolog.registry.store.follower import TopicFollower
from duolog.registry.store.stored import NewRecord, StoredRecord
from duolog.registry.store.topic import ensure_topic
from duolog.registry.store.writer import FencedWriter

if TYPE_CHECKING:
    from duolog.registry.access.settings import AccessSettings
    from duolog.registry.http.tls import RegistryTls
    from duolog.security.logins.inner import InnerLogin

logger = logging.getLogger(__name__)

DEFAULT_LISTEN: Final = "127.0.0.1:8081"
_SIGNALLED: Final = 128
"""A shell adds it to the number of the signal that ended a process."""


@dataclass(frozen=True, slots=True)
class RegistryOptions:
    """The options given on the command line.

    Attributes:
        advertise: the URL of this registry for the others of its group; derived if empty.
        users: the users file, see `access/users.py`.
        inner: the login of the broker that runs this registry, if one does.
        access: the settings of a registry with the users of the cluster, in place of a file.
        hosts: further names under which clients may address this registry.
        tls_certificate: a PEM file; the registry then speaks HTTPS.
        tls_key: the file of its private key, if that is not in the same file.
        insecure: listen beyond loopback without users or without HTTPS.
        noted: called with the address if others can reach it although it is not safe.
        session_s: after this time without a sign of life, a leader is replaced.
        version: what /v1/metadata/version reports.
        skip_damaged_records: start although records of the topic have no meaning.
        impact: computes what a schema would break; None if this registry cannot.
    """

    kafka: KafkaOptions
    listen: str = DEFAULT_LISTEN
    advertise: str = ""
    users: Path | None = None
    access: "AccessSettings | None" = None
    inner: "InnerLogin | None" = None
    hosts: tuple[str, ...] = ()
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    insecure: bool = False
    noted: Callable[[list[str]], None] = lambda _: None
    session_s: float = SESSION_S
    skip_damaged_records: bool = False
    version: str = "unknown"
    rules: RulesSettings = field(default_factory=RulesSettings)
    impact: Impact | None = None


def run(options: RegistryOptions, report: Callable[[str], None]) -> int:
    """Run a registry until a signal stops it; return the exit status.

    `report` is called with the ready line.

    Raises:
        ConfigError: an option cannot be used.
        StoreUnavailable: no broker answers.
        TopicUnsuitable: the topic could lose schemas.
        RecordDamaged: a record of the topic has no meaning.
    """
    access = _access(options)
    tls = _tls(options)
    danger = _danger(authenticated=access.authenticates, encrypted=tls is not None)
    listening = open_listener(
        parse_address(options.listen, option="listen"),
        insecure=options.insecure or not danger,
        secure_hint="Listen on 127.0.0.1; or give --cluster-users, or --users, and --tls-cert; or "
        "accept the risk with --insecure.",
        danger=danger,
    )
    with listening:
        address = Address(*listening.getsockname()[:2])
        if danger and not is_loopback(address.host):
            exposed = f"schema registry at {address}: {danger}"
            logger.warning("INSECURE: open to the network", extra={"server": exposed})
            options.noted([exposed])
        url = _url(options.advertise, address, "http" if tls is None else "https")
        cluster_id = ensure_topic(options.kafka)
        process = _Process(options, url, cluster_id, access, tls)
        try:
            access.load()
            process.follower.load()
            return asyncio.run(process.serve(listening, address, report))
        finally:
            process.follower.stop()
            access.stop()


def _access(options: RegistryOptions) -> ServerAccess:
    if options.access is None:
        return FileAccess(options.users)
    if options.users is not None:
        raise ConfigError(
            "--users and --cluster-users are both given",
            name="users",
            hint="Keep one of them.",
        )
    return ClusterAccess(options.kafka, options.access, options.inner)


def _tls(options: RegistryOptions) -> "RegistryTls | None":
    if options.tls_certificate is None:
        if options.tls_key is not None:
            raise ConfigError(
                "--tls-key is given without --tls-cert", name="tls-cert", hint="Give both."
            )
        return None
    # Loaded here: a registry without TLS needs no OpenSSL.
    from duolog.registry.http import tls  # noqa: PLC0415

    return tls.RegistryTls(options.tls_certificate, options.tls_key)


def _danger(*, authenticated: bool, encrypted: bool) -> str:
    """Return why the registry is not safe beyond loopback; empty if it is."""
    if not authenticated:
        return "clients are not authenticated"
    return "" if encrypted else "passwords are not encrypted"


class _Process:
    """The parts of one registry."""

    def __init__(
        self,
        options: RegistryOptions,
        url: str,
        cluster_id: str,
        access: ServerAccess,
        tls: "RegistryTls | None",
    ) -> None:
        self._tls = tls
        self._options = options
        self._url = url
        self._cluster_id = cluster_id
        self._access = access
        self._rules = Registry(options.rules)
        self._replica = Replica(self._replay)
        self.follower = TopicFollower(options.kafka, self._replica.deliver, self._replica.fail)

    async def serve(
        self, listening: socket.socket, address: Address, report: Callable[[str], None]
    ) -> int:
        """Serve until a signal comes."""
        loop = asyncio.get_running_loop()
        kafka = self._options.kafka
        stopping = _stop_on_signals(loop)
        _reload_on_signal(loop, self._access, self._tls)
        leadership = Leadership(
            self._replica, lambda: FencedWriter(kafka), NewRecord(*encode(BARRIER))
        )
        service = RegistryService(
            self._rules,
            self._replica,
            leadership,
            leaders=Leaders(kafka),
            url=self._url,
            server=server_answers(
                self._cluster_id, kafka.group, self._options.version, self._access.status
            ),
            impact=self._options.impact,
        )
        election = Election(
            kafka,
            self._url,
            gained=lambda: _call(loop, leadership.gain),
            lost=lambda: _call(loop, leadership.lose),
            session_s=self._options.session_s,
        )
        hosts = AllowedHosts([*self._options.hosts, Address(*address).host, _host(self._url)])
        server = HttpServer(
            Gate(hosts, self._access.authentication, service.handle).answer,
            connections_max=connections_max(raise_descriptors_max()),
        )
        self._replica.attach(loop)
        self.follower.start()
        self._access.start(loop)
        await server.start(listening, self._tls)
        election.start()
        scheme = "http" if self._tls is None else "https"
        report(f"duolog registry ready on {scheme}://{address}")
        logger.info("registry is ready", extra={"url": self._url, "topic": kafka.topic})
        await stopping.wait()
        logger.info("registry stops")
        await server.stop()
        await leadership.stop()
        await loop.run_in_executor(None, election.stop)
        service.close()
        logger.info("registry has stopped")
        return 0

    def _replay(self, record: StoredRecord) -> None:
        try:
            self._rules.replay(record.key, record.value, timestamp=record.timestamp_ms)
        except DamagedRecordError as error:
            topic = self._options.kafka.topic
            if not self._options.skip_damaged_records:
                raise RecordDamaged(
                    f"record {topic}-0 at offset {record.offset} is damaged: {error.message}",
                    detail=error.detail,
                    hint="Restore the topic from a backup, or skip such records with "
                    "--skip-damaged-records: the registry then lacks what they say.",
                ) from error
            logger.warning(
                "skipped a damaged record",
                extra={"topic": topic, "offset": record.offset, "reason": error.one_line()},
            )


def server_answers(
    cluster_id: str, group: str, version: str, users: Callable[[], Json]
) -> dict[str, Callable[[], Json]]:
    """Return the answers of the endpoints that need no state."""
    clusters: Json = {"kafka-cluster": cluster_id, "schema-registry-cluster": group}
    return {
        "root": dict,
        "cluster_id": lambda: {"id": "", "scope": {"path": [], "clusters": clusters}},
        "server_version": lambda: {"version": version, "commitId": "unknown"},
        "users_status": users,
        "deployment": lambda: {"attributes": ["opensource"]},
    }


def _url(advertise: str, address: Address, scheme: str) -> str:
    if advertise:
        if not advertise.startswith(("http://", "https://")):
            raise ConfigError(
                f'"{advertise}" is not the URL of a registry',
                name="advertise",
                value=advertise,
                hint="Write http://HOST:PORT.",
            )
        return advertise.rstrip("/")
    host = address.host
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not listened on
        host = socket.gethostname()
    return f"{scheme}://{Address(host, address.port)}"


def _host(url: str) -> str:
    return url.partition("://")[2].rpartition(":")[0].strip("[]")


def _call(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Call on the loop; do nothing if it has ended, as the election does last."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)


def _stop_on_signals(loop: asyncio.AbstractEventLoop) -> asyncio.Event:
    stopping = asyncio.Event()

    def stop(number: int) -> None:
        if stopping.is_set():
            # A second signal means that the user does not want to wait.
            os._exit(_SIGNALLED + number)
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    return stopping


def _reload_on_signal(
    loop: asyncio.AbstractEventLoop, access: ServerAccess, tls: "RegistryTls | None"
) -> None:
    """Read users and certificates again when SIGHUP comes; a file with an error changes nothing."""
    if sys.platform == "win32" or not (access.reloads or tls is not None):
        return
    reading: set[asyncio.Task[None]] = set()

    async def read() -> None:
        if tls is not None:
            tls.reload()
        await access.reload()

    def start() -> None:
        task = loop.create_task(read())
        reading.add(task)
        task.add_done_callback(reading.discard)

    loop.add_signal_handler(signal.SIGHUP, start)
