"""Run the queries of a service in this process, if no other engine runs them.

    start ─▶ own the service ─▶ supervise its queries ─▶ (lost) ─▶ stop them ─▶ start again

While this process owns the service, it also follows the statements of other engines and publishes
the states of the queries for them.

Threads: any. The lock of the engine guards the replayed catalog.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import Final

from duolog.core.errors import KafkaError
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.sql.command_log.replayed_catalog import ReplayedCatalog
from duolog.runtime.sql.errors import CommandDamaged, ServiceInUse
from duolog.runtime.sql.persistent.ownership import Ownership
from duolog.runtime.sql.persistent.query_states import QueryStates, followed
from duolog.runtime.sql.persistent.query_supervisor import LiveQuery, QuerySupervisor
from duolog.security.clients.brokers import Brokers

logger: Final = logging.getLogger(__name__)

_FOLLOW_S: Final = 0.5
_REGAIN_S: Final = 2.0
_ASK_AGAIN_S: Final = 60.0
_STOP_S: Final = 90.0
_TURN_S: Final = 1.0


class ServiceQueries:
    """The persistent queries of a service.

    Args:
        bootstrap: the cluster's servers.
        service_id: the service.
        replayed: its catalog and desired queries.
        follow: updates `replayed` and the known topics.
        supervise: returns a supervisor that calls its argument in each round.
        lock: guards `replayed`.
    """

    def __init__(
        self,
        bootstrap: Brokers | str,
        service_id: str,
        *,
        replayed: ReplayedCatalog,
        follow: Callable[[], None],
        supervise: Callable[[Callable[[], None]], QuerySupervisor],
        lock: threading.RLock,
    ) -> None:
        self._bootstrap = bootstrap
        self._service_id = service_id
        self._replayed = replayed
        self._follow = follow
        self._supervise = supervise
        self._lock = lock
        self._supervisor: QuerySupervisor | None = None
        self._ownership: Ownership | None = None
        self._states: QueryStates | None = None
        self._changing = threading.Lock()
        """Guards the three above, for moments: ownership may be lost while the lock is held."""
        self.given_up = threading.Event()
        self._standing_by = False
        self._followed_at = 0.0
        self._ask_again_at = 0.0
        self._damage: CommandDamaged | None = None
        """The error that is logged already."""

    @property
    def supervisor(self) -> QuerySupervisor | None:
        """The supervisor of the queries, if this process runs them."""
        return self._supervisor

    def start(self) -> None:
        """Start running the queries here, if there are any and they do not run yet.

        Raises:
            ServiceInUse: another engine runs them.
            BrokerUnavailable, CommandDamaged: as `follow`.
        """
        with self._lock:
            self._follow()
            if self._supervisor is not None or not self._replayed.state.queries:
                return
            name = self._replayed.topic.name
            ownership = Ownership(self._bootstrap, self._service_id, name, self._lost)
            self._ownership = ownership
            if self.given_up.is_set():
                ownership.give_up()
            ownership.acquire()
            if self.given_up.is_set():
                self.stop()
                return
            self._run(ownership)

    def stand_by(self) -> None:
        """Run the queries here as soon as no other process does; return at once.

        A server has no user that starts it again: it waits for its turn, even without queries. The
        broker gives it the service within the session timeout of an owner that has died.
        """
        self._standing_by = True
        threading.Thread(
            target=self._wait_for_turn, name="duolog-sql-stand-by", daemon=True
        ).start()

    def give_up(self) -> None:
        """Abort waits for ownership and for starts, from any thread; call `stop` next."""
        self.given_up.set()
        if (supervisor := self._supervisor) is not None:
            supervisor.give_up()
        elif (ownership := self._ownership) is not None:
            ownership.give_up()

    def stop(self) -> None:
        """Stop the queries and release the service. Does nothing if they do not run here."""
        with self._changing:
            supervisor, self._supervisor = self._supervisor, None
            ownership, self._ownership = self._ownership, None
            states, self._states = self._states, None
        if supervisor is not None:
            supervisor.close()
        if states is not None:
            states.close()
        if ownership is not None:
            ownership.close()

    def apply(self, *, has_new_query: bool) -> None:
        """Apply a change of the desired queries; a new one may make this process run them all.

        If another engine runs them, this process tries again after a minute at the earliest.
        """
        if self._supervisor is not None:
            self._supervisor.want(self._replayed.wanted)
        elif self._standing_by:
            return  # The owner follows the command topic.
        elif has_new_query and time.monotonic() >= self._ask_again_at:
            try:
                self.start()
            except ServiceInUse as error:
                self._ask_again_at = time.monotonic() + _ASK_AGAIN_S
                logger.info("%s: %s", error.message, error.detail)

    def wait_stopped(self, query_ids: Iterable[str]) -> None:
        """Wait until ended queries have stopped, if they run here."""
        if self._supervisor is not None:
            self._supervisor.wait_stopped(query_ids, _STOP_S)

    def wait_settled(self, timeout_s: float) -> bool:
        """Wait until each query is running, paused or failed; return false after the timeout."""
        return self._supervisor is None or self._supervisor.wait_settled(timeout_s)

    def live(self, *, with_progress: bool = False) -> list[LiveQuery]:
        """Return the queries with their current states.

        If another engine runs them, it has reported their states; if no engine does, they are
        UNRESPONSIVE.
        """
        with self._lock:
            wanted, supervisor = dict(self._replayed.wanted), self._supervisor
        if supervisor is not None:
            return supervisor.live_all(with_progress=with_progress)
        return followed(self._bootstrap, self._service_id, wanted)

    def _run(self, ownership: Ownership) -> None:
        """Start the supervisor, unless the service was lost meanwhile.

        The caller holds the lock.
        """
        supervisor = self._supervise(self._look)
        with self._changing:
            if self._ownership is not ownership:
                return
            self._states = QueryStates(self._bootstrap, self._service_id, ownership.name)
            self._supervisor = supervisor
        supervisor.want(self._replayed.wanted)
        # If it is stopped now, it starts nothing.
        supervisor.start(self._replayed.ended)

    def _wait_for_turn(self) -> None:
        """Join the group of the service, whose owner the broker chooses."""
        topic = self._replayed.topic
        while not self.given_up.is_set():
            try:
                topic.make()
            except (BrokerUnavailable, KafkaError) as error:
                logger.debug("cannot join the group of the service: %s", error.message)
                self.given_up.wait(_REGAIN_S)
                continue
            gained = threading.Event()
            ownership = Ownership(
                self._bootstrap, self._service_id, topic.name, self._lost, gained.set
            )
            with self._lock:
                if self.given_up.is_set():
                    return
                self._ownership = ownership
            ownership.stand_by()
            while not gained.wait(_TURN_S):
                if self.given_up.is_set() or self._ownership is not ownership:
                    return
            if self._take_turn(ownership):
                return
            ownership.close()
            self.given_up.wait(_REGAIN_S)

    def _take_turn(self, ownership: Ownership) -> bool:
        """Run the queries as the owner; return false if the catalog cannot be read now."""
        try:
            with self._lock:
                if self.given_up.is_set() or self._ownership is not ownership:
                    return True
                self._follow()
                self._run(ownership)
        except (BrokerUnavailable, KafkaError) as error:
            logger.warning("cannot run the queries yet: %s", error.message)
            return False
        except CommandDamaged as damage:
            logger.warning("%s: %s", damage.message, damage.detail)
        return True

    def _look(self) -> None:
        """Follow other engines, unless a statement holds the lock; called by the supervisor."""
        if time.monotonic() - self._followed_at < _FOLLOW_S or not self._lock.acquire(
            blocking=False
        ):
            return
        try:
            self._followed_at = time.monotonic()
            self._replayed.follow()
            if self._supervisor is not None:
                self._supervisor.want(self._replayed.wanted)
                if self._states is not None:
                    self._states.publish(self._supervisor.live_all())
        except (KafkaError, BrokerUnavailable) as error:
            logger.debug("cannot follow the command topic: %s", error.message)
        except CommandDamaged as damage:
            if damage is not self._damage:  # It stays, and this is called twice a second.
                self._damage = damage
                logger.warning("%s: %s", damage.message, damage.detail)
        finally:
            self._lock.release()

    def _lost(self) -> None:
        """Stop the queries after missed heartbeats, and start them again once possible."""
        logger.warning(
            "the broker has missed heartbeats of service %s; stopping its queries",
            self._service_id,
        )
        self.stop()
        if self._standing_by:
            self.stand_by()
        else:
            threading.Thread(target=self._regain, name="duolog-sql-regain", daemon=True).start()

    def _regain(self) -> None:
        while not self.given_up.wait(_REGAIN_S) and self._supervisor is None:
            try:
                self.start()
            except (ServiceInUse, BrokerUnavailable, KafkaError) as error:
                logger.debug("cannot run the queries again: %s", error.message)
            except CommandDamaged as damage:
                logger.warning("%s: %s", damage.message, damage.detail)
                return
