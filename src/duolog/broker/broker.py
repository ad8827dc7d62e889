"""The broker: what the APIs work on, and the life of the whole.

    Broker.start  opens what waits to be replayed, then listens
    one round     poll → handlers → write, commit → answers → sends   (loop.py, rounds.py)
    Broker.stop   closes connections, writes and syncs what is staged, closes the logs cleanly

Threads: all of it runs on the loop's thread; the group commit has its own.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from duolog.broker.backups import Cuts
from duolog.broker.cleaning.cleaner import Cleaner
from duolog.broker.cleaning.recovery_point_task import RecoveryPoints
from duolog.broker.cleaning.retention_task import Retention
from duolog.broker.configs.client_quotas import ClientQuotas
from duolog.broker.configs.resource_types import Configs
from duolog.broker.controller import Change, Controller, carry_out
from duolog.broker.counters import Counters
from duolog.broker.errors import hidden, kafka_code
from duolog.broker.event_loop.background import BackgroundThread, BesideTheLoop
from duolog.broker.event_loop.loop import Loop, Timers
from duolog.broker.event_loop.time_slices import TimeSlices
from duolog.broker.expressions.expressions import Expressions
from duolog.broker.fetch.fetch_sessions import FetchSessions
from duolog.broker.groups.coordinator_service import GroupCoordinatorService
from duolog.broker.identity.security_service import SecurityService
from duolog.broker.network.clients import Clients
from duolog.broker.network.connection import Connection
from duolog.broker.network.connection_quotas import ConnectionQuotas
from duolog.broker.network.endpoints import WITH_SASL
from duolog.broker.network.listener import Listener
from duolog.broker.network.request_memory import RequestMemory
from duolog.broker.network.tls_listeners import TlsListeners
from duolog.broker.produce.rounds import Callback, Rounds
from duolog.broker.quotas.enforcement import Enforcement
from duolog.broker.requests.preloading import Preloading
from duolog.broker.router import Entrances, Router, find_apis
from duolog.broker.schema_checks.registered import TOPIC_OF_REGISTRY, RegisteredSchemas
from duolog.broker.settings import BrokerSettings, without_effect
from duolog.broker.topics.topic_config import TopicConfigs
from duolog.broker.topics.topics import Partition, Topic, Topics
from duolog.broker.transactions.coordinator_service import TransactionCoordinatorService
from duolog.broker.transactions.producer_ids import ProducerIds
from duolog.core.clock import Clock
from duolog.core.errors import DuologError
from duolog.core.ids import TopicPartition
from duolog.core.setting_types import Kind
from duolog.log.data_directory.topics import TOPICS_DIRECTORY
from duolog.log.settings import BROKER_NAMES
from duolog.protocol.messages import Messages
from duolog.record.batch import NO_PRODUCER, BatchHeader, read_header, whole_batches
from duolog.record.records import Record, decode_records
from duolog.security.authorization.acl_authorizer import SECURITY_TOPIC
from duolog.security.logins.inner import INNER_LISTENER

if TYPE_CHECKING:
    import socket

    from duolog.broker.network.connection_quotas import OpenConnection
    from duolog.broker.network.endpoints import OpenEndpoint
    from duolog.broker.network.needs import Flushable
    from duolog.broker.quotas.entities import Quotas
    from duolog.broker.requests.needs import Refusable
    from duolog.broker.schema_checks.registered import OpenRegistry
    from duolog.broker.topics.topics import Waiter
    from duolog.core.listening import Address
    from duolog.log.group_commit import Durability
    from duolog.log.log_manager import LogManager
    from duolog.log.partition.partition_log import PartitionLog
    from duolog.security.authorization.authorizer import Authorizer
    from duolog.security.identity.principal import Identity

    ConnectionType = Callable[["Broker", socket.socket, str, Address, str], OpenConnection]

logger = logging.getLogger(__name__)

TOPIC_DEFAULTS: Final = frozenset({*BROKER_NAMES.values(), "producer.id.expiration.ms"})
_REPLAY_BYTES: Final = 1024 * 1024


class Broker:
    """One broker over one data directory."""

    authorizer: "Authorizer | None"
    """Decides what clients may do; None if every client may do everything."""

    def __init__(
        self,
        *,
        log_manager: "LogManager",
        clock: Clock,
        settings: BrokerSettings,
        open_registry: "OpenRegistry | None" = None,
    ) -> None:
        """Make a broker that does not listen yet; `open_registry` returns its schema registry."""
        self.clock = clock
        self.settings = settings
        self.node_id = settings.integer("node.id")
        self.cluster_id: str = log_manager.cluster_id
        self.leader_epoch = log_manager.leader_epoch
        self.data_dir = str(Path(log_manager.path).absolute())
        self.rack = settings.text("broker.rack") or None
        self.frame_bytes_max = settings.integer("socket.request.max.bytes")
        self.fetch_bytes_max = settings.integer("fetch.max.bytes")
        self.spare_descriptors = log_manager.spare_descriptors
        self.loop = Loop(clock)
        self.loop.after_round = self._after_round
        self.messages = Messages()
        self.router = Router(find_apis())
        self.entrances = Entrances(self.router)
        self._background = BackgroundThread()
        self.beside = BesideTheLoop(self.loop)
        self.expressions = Expressions(self.loop)
        self.slices = TimeSlices(clock, self.loop.timers)
        self.controller = Controller(self.loop, self.slices)
        self.tls = TlsListeners(settings)
        self.configs = Configs(
            log_manager,
            settings,
            self._settings_changed,
            self._computed,
            self._ensure_tls_usable,
        )
        self.schemas = RegisteredSchemas(self.loop, clock, open_registry, self._records_of_registry)
        topic_configs = TopicConfigs(settings, has_registry=self.schemas.available)
        self.topics = Topics(
            log_manager,
            topic_configs,
            self._background.run,
            # Without an authorizer, no rule would protect the credentials.
            closed=() if settings.text("authorizer.class.name") else (SECURITY_TOPIC,),
        )
        self.configs.add_topics(self.topics)
        if settings.default or settings.own:
            for topic in self.topics:  # Their logs were opened with the settings of the start.
                self.topics.reconfigure(topic)
        self.producer_ids = ProducerIds(log_manager)
        durability = cast("Durability", settings.text("durability"))
        self.group_commit = log_manager.group_commit(durability, self.loop.wake)
        self.counters = Counters()
        self.rounds = Rounds(self.group_commit, self.partition_changed, self.counters)
        self._prepare_connections(settings)
        self.quotas = ClientQuotas(log_manager, self._quotas_changed)
        self.security = SecurityService(self)
        self.authorizer = self.security.authorizer
        self.groups = GroupCoordinatorService(self)
        self.transactions = TransactionCoordinatorService(self)
        log_manager.logs.use_beside(self._background.run)
        self._log_manager = log_manager
        self.cleaner = Cleaner(self, self._background.run)
        self.retention = Retention(self)
        self.fetch_sessions = FetchSessions(self)
        self._waiters_to_check: set[Waiter] = set()
        self._listeners: list[Listener] = []

    def _prepare_connections(self, settings: BrokerSettings) -> None:
        self._enforcement = Enforcement(settings, self.clock)
        self.enforcement: Enforcement | None = None
        """Measures what clients use; None if no client has a quota."""
        self.request_memory = RequestMemory(
            settings.integer("queued.max.request.bytes"), self.loop.timers
        )
        self.connections = ConnectionQuotas(settings, self.loop.timers, self.clock)
        self.clients = Clients(self.clock)
        self.connections_to_flush: list[Flushable] = []
        self.connection_type: ConnectionType = Connection
        """Its replacement by tests can fail on purpose."""
        self.endpoints: Sequence[OpenEndpoint] = ()
        self.advertised: tuple[str, int] = ("127.0.0.1", 0)
        """The address that clients of the first listener receive; see `Connection.advertised`."""

    @property
    def coordinators_loaded(self) -> bool:
        """True once groups and transactions have read their logs."""
        return not (self.groups.loading or self.transactions.loading)

    @property
    def timers(self) -> Timers:
        return self.loop.timers

    def log(self, topic: str, partition: int) -> "PartitionLog":
        """Return the log of one partition.

        Raises:
            UnknownTopic: there is none.
        """
        return self.topics.partition(topic, partition).log

    def _records_of_registry(self) -> int:
        """Return where the topic of a schema registry ends in this broker; -1 if it has none."""
        topic = self.topics.get(TOPIC_OF_REGISTRY)
        partition = None if topic is None else topic.partition(0)
        return -1 if partition is None else partition.log.log_end_offset

    def start(self, endpoints: "Sequence[OpenEndpoint]", tls: TlsListeners | None = None) -> None:
        """Load what is kept in logs and begin to accept; the loop must then be run.

        `tls` has the certificates of the listeners with TLS.

        Raises:
            ConfigError: with settings of an earlier run time, a listener would be insecure, or
                cannot check client certificates.
        """
        if tls is not None:
            self.tls = tls
            tls.use_earlier_changes()
            tls.follow_files(self.timers)
        self.endpoints = endpoints
        self.advertised = endpoints[0].advertised
        self.entrances.gated |= {each.name for each in endpoints if each.protocol in WITH_SASL}
        self.security.load()
        self.security.start()
        self.groups.start()
        self.transactions.start()
        self.retention.start()
        self.cleaner.start()
        RecoveryPoints(
            self.timers,
            self._log_manager,
            self.group_commit,
            self.settings.integer("log.recovery.bytes.max"),
        ).start()
        Cuts(self, self._log_manager.disk, self._background.run).start()
        self._listeners = [Listener(self, endpoint) for endpoint in endpoints]
        self.connections.watch_idle()

    def run(self) -> None:
        """Serve until `loop.stop` is called."""
        Preloading(self).start()
        try:
            self.loop.run()
        except BaseException:  # Also an interrupt: the stop after it does not count as clean.
            self.loop.timers.failures += 1
            raise

    def stop(self) -> None:
        """Close everything; when this returns, all that was acknowledged or staged is synced.

        After an unexpected error, such as a failed assertion, the state in memory may be wrong.
        Then the stop does not count as a clean one, and the next start looks for itself.
        """
        for listener in self._listeners:
            listener.close()
        self.cleaner.stop()
        self.controller.close()
        self.groups.stop()
        self.transactions.stop()
        for connection in self.connections:
            connection.close("broker stops")
        self.security.flush()
        self.rounds.finish()
        self.group_commit.close()
        self.rounds.finish()
        self._background.close()
        self.security.close()
        self.beside.close()
        self.schemas.close()
        self.expressions.close()
        self._log_manager.close(
            clean=not (self.loop.timers.failures or self.counters.errors.total())
        )
        self.loop.close()

    def make_connection(
        self, accepted: "socket.socket", address: str, advertised: "Address", listener: str
    ) -> "OpenConnection":
        """Serve a client that was accepted."""
        connection = self._connection(accepted, address, advertised, listener)
        self.clients.follow(connection)
        return connection

    def _connection(
        self, accepted: "socket.socket", address: str, advertised: "Address", listener: str
    ) -> "OpenConnection":
        tls = self.tls.get(listener)
        if tls is None:
            return self.connection_type(self, accepted, address, advertised, listener)
        # Loaded here: a broker without TLS needs no OpenSSL.
        from duolog.broker.network.tls_connection import TlsConnection  # noqa: PLC0415

        return TlsConnection(self, accepted, address, advertised, listener, tls=tls)

    def note_login(
        self, client: "Identity", mechanism: str, listener: str, reason: str = ""
    ) -> None:
        """Write a login by other means than SASL to the audit log; with a reason, it failed."""
        self.security.audit.login(client, mechanism, listener, reason)

    def append_internal(
        self,
        topic: str,
        partition: int,
        batch: bytearray,
        on_durable: Callable[[Exception | None], None],
    ) -> None:
        """Append a batch of the broker's own and call back on the loop when it is on the disk.

        The callback gets the error when it is not. `batch` must not be touched again. With a
        producer it is part of that producer's transaction.
        """
        found = self.topics.partition(topic, partition)
        if self.rounds.failure is not None:
            on_durable(self.rounds.failure)
            return
        if read_header(batch).producer_id == NO_PRODUCER:
            found.log.append(memoryview(batch))
        else:
            found.log.append_unsequenced(batch)
        self.rounds.dirty.add(found)
        self.rounds.pending.append(Callback(on_durable))

    def replay_internal(self, topic: str, partition: int) -> Iterator[Record]:
        """Read all durable records of a partition from its start, but for markers."""
        log_start_offset = self.log(topic, partition).log_start_offset
        for header, batch in self.replay_batches(topic, partition):
            if not header.control:
                records = decode_records(batch)
                yield from (record for record in records if record.offset >= log_start_offset)

    def replay_batches(
        self, topic: str, partition: int
    ) -> Iterator[tuple[BatchHeader, memoryview]]:
        """Read all durable batches of a partition from its start."""
        log = self.log(topic, partition)
        offset = log.log_start_offset
        while offset < log.high_watermark:
            data = log.read_bytes(offset, _REPLAY_BYTES, up_to_offset=log.high_watermark)
            if not data:  # Compaction has left a hole up to there.
                return
            for header, batch in whole_batches(data):
                yield header, batch
                offset = header.next_offset

    def creating_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> Change:
        """Return the change that creates a topic."""
        change = self.topics.creating(name, partitions, configs)

        def apply() -> Iterator[None]:
            yield from change.apply()
            logger.info(
                "created topic",
                extra={"partitions": partitions, **self._place(self.topics.find(name))},
            )

        return change._replace(apply=apply)

    def _place(self, topic: Topic) -> dict[str, str]:
        """Return the log fields that show which folder belongs to a topic."""
        folder = f"{self.data_dir}/{TOPICS_DIRECTORY}/{topic.id}"
        return {"topic": topic.name, "topic_id": str(topic.id), "folder": folder}

    def create_topic(self, name: str, partitions: int, configs: dict[str, str]) -> Topic:
        """Create a topic of the broker's own; when this returns it is on the disk."""
        carry_out(self.creating_topic(name, partitions, configs))
        return self.topics.find(name)

    def deleting_topic(self, name: str) -> Change:
        """Return the change that deletes a topic; answer the requests that wait for its records."""
        self.rounds.finish()
        topic = self.topics.find(name)
        change = self.topics.deleting(name)
        for partition in topic.partitions:
            self._waiters_to_check.update(partition.waiters)

        def apply() -> Iterator[None]:
            yield from change.apply()
            self.groups.topic_deleted(name)
            logger.info("deleted topic", extra=self._place(topic))

        return change._replace(apply=apply)

    def delete_topic(self, name: str) -> None:
        """Delete a topic; when this returns it is gone."""
        carry_out(self.deleting_topic(name))

    def refuse(self, context: "Refusable", error: Exception) -> None:
        """Answer a request whose handler failed, and log unexpected errors."""
        code, message = kafka_code(error)
        if not isinstance(error, DuologError):
            self.counters.errors[context.api_name] += 1
            self.connections.lines.log(
                logger,
                logging.ERROR,
                "request failed",
                {"api": context.api_name, "version": context.version},
                # A traceback ends with a text that may show what the request contains.
                exc_info=hidden(error) if context.secret else error,
            )
        if not context.replied:
            context.reply_error(code, message)

    def _computed(self) -> dict[str, tuple[Kind, str]]:
        """Return what Kafka has as settings, and here comes from the command line."""
        rows = [row for row in self.endpoints if row.name != INNER_LISTENER]
        told = ",".join(f"{row.name}://{row.advertised}" for row in rows)
        heard = ",".join(f"{row.name}://{row.bound}" for row in rows)
        return {
            "advertised.listeners": (Kind.STRING, told),
            "broker.id": (Kind.INT, str(self.node_id)),
            "listeners": (Kind.STRING, heard),
            "log.dirs": (Kind.STRING, self.data_dir),
        }

    def _quotas_changed(self, quotas: "Quotas") -> None:
        self.connections.rates.update(quotas)
        self.enforcement = self._enforcement if self._enforcement.update(quotas) else None

    def _ensure_tls_usable(self, candidate: BrokerSettings) -> None:
        self.tls.ensure_usable(candidate)

    def _settings_changed(self, names: set[str]) -> Iterator[None]:
        """Let what follows the broker's settings follow them."""
        if names:
            inert = sorted(without_effect(names))
            logger.info(
                "settings were changed at run time",
                extra={"settings": sorted(names)} | ({"without_effect": inert} if inert else {}),
            )
        self.tls.settings_changed(names)
        if not names.isdisjoint(TOPIC_DEFAULTS):
            for topic in list(self.topics):
                self.topics.reconfigure(topic)
                yield

    def partition_changed(self, partition: Partition) -> None:
        """Notify waiting fetches of new records or a new log start."""
        if partition.waiters:
            self._waiters_to_check.update(partition.waiters)

    def check_soon(self, waiter: "Waiter") -> None:
        """Let a fetch that waits look again at the end of this round."""
        self._waiters_to_check.add(waiter)

    def rights_changed(self) -> None:
        """Let fetches that wait look again in this round: the authorizer's epoch has grown."""
        for connection in self.connections:
            self._waiters_to_check.update(connection.parked)

    def _after_round(self) -> None:
        """Write, answer, wake and send until nothing is left that does not wait for others."""
        rounds = self.rounds
        while True:
            rounds.finish()
            while self._waiters_to_check:
                waiters, self._waiters_to_check = self._waiters_to_check, set()
                for waiter in waiters:
                    waiter.check()
            if not self.connections_to_flush:
                return
            connections, self.connections_to_flush = self.connections_to_flush, []
            for connection in connections:
                connection.flush()

    def topic_partitions(self) -> Iterator[TopicPartition]:
        """Return every partition that is served."""
        for topic in self.topics:
            for partition in topic.partitions:
                yield partition.topic_partition
