"""Run the queries of a service in this process: all of them, or a server's part of them.

    become a member ─▶ places are assigned ─▶ supervise their queries ─▶ release places ─▶ leave
           ▲                                       └▶ (lost) ─▶ stop all queries ─┐
           └──────────────────────────────────────────────────────────────────────┘

A member runs the queries of the places that are assigned to it (`places`). New places first wait
until the catalog was read: a query may have ended while it moved. Released places wait until their
queries have stopped. A member also follows the statements of other processes, and publishes the
states of its queries for them.

Threads: any. The lock of the service guards the replayed catalog. It is not held while something
waits for other processes.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from duolog.core.errors import KafkaError
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.command_log.replayed_catalog import ReplayedCatalog
from duolog.runtime.sql.errors import CommandDamaged, ServiceInUse
from duolog.runtime.sql.persistent.members import Member, members_of_service
from duolog.runtime.sql.persistent.membership import Membership
from duolog.runtime.sql.persistent.places import make_places, place_of
from duolog.runtime.sql.persistent.query_states import QueryStates, followed, still_stopping
from duolog.runtime.sql.persistent.query_supervisor import LiveQuery, QuerySupervisor
from duolog.security.clients.brokers import Brokers

logger: Final = logging.getLogger(__name__)

_FOLLOW_S: Final = 0.5
_REGAIN_S: Final = 2.0
_ASK_AGAIN_S: Final = 60.0
_STOP_S: Final = 90.0
_STOP_ELSEWHERE_S: Final = 20.0
_ASK_STOPPED_S: Final = 0.2
_TURN_S: Final = 1.0
_NO_PLACES: Final[frozenset[int]] = frozenset()


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
        self._ending: QuerySupervisor | None = None
        """The supervisor that is stopping its queries."""
        self._membership: Membership | None = None
        self._states: QueryStates | None = None
        self._known: Mapping[str, DesiredQuery] = {}
        """All queries of the service."""
        self._places = _NO_PLACES
        """The places whose queries run here."""
        self._gained = _NO_PLACES
        """New places, whose queries start once the catalog was read."""
        self._changing = threading.Lock()
        """Guards the seven above, for moments: places may move while the lock is held."""
        self._starting = threading.Lock()
        """Held during `start`, which may wait for other processes."""
        self.given_up = threading.Event()
        self._standing_by = False
        self._address = ""
        self._name = ""
        """The name of this process as a member, also after it has left."""
        self._followed_at = 0.0
        self._ask_again_at = 0.0
        self._damage: CommandDamaged | None = None
        """The error that is logged already."""

    @property
    def supervisor(self) -> QuerySupervisor | None:
        """The supervisor of the queries that run in this process, if any do."""
        return self._supervisor

    def start(self) -> None:
        """Start running all queries here, if there are any and they do not run yet.

        Raises:
            ServiceInUse: another process runs them.
            BrokerUnavailable, CommandDamaged: as `follow`.
        """
        self._start(waits=True)

    def start_first(self) -> None:
        """Start running the queries here after a new one was accepted, unless others run them.

        Does not wait for another process that may have crashed: the queries start when the broker
        has noticed that. If another process runs them, this one tries again with a new query after
        a minute at the earliest.
        """
        if (
            self._supervisor is not None
            or self._standing_by  # The members follow the command topic.
            or time.monotonic() < self._ask_again_at
        ):
            return
        try:
            self._start(waits=False)
        except ServiceInUse as error:
            self._ask_again_at = time.monotonic() + _ASK_AGAIN_S
            logger.info("%s: %s", error.message, error.detail)
            threading.Thread(target=self._try_again, name="duolog-sql-start", daemon=True).start()

    def stand_by(self, address: str = "") -> None:
        """Share the queries with other servers from now on; return at once.

        A server has no user that starts it again. It joins even without queries, and waits as long
        as a process that is not a server runs them. `address` is where clients reach this server.
        """
        self._standing_by, self._address = True, address
        threading.Thread(
            target=self._wait_for_turn, name="duolog-sql-stand-by", daemon=True
        ).start()

    def give_up(self) -> None:
        """Abort waits for other members and for starts, from any thread; call `stop` next."""
        self.given_up.set()
        if (supervisor := self._supervisor) is not None:
            supervisor.give_up()
        elif (membership := self._membership) is not None:
            membership.give_up()

    def stop(self) -> None:
        """Stop the queries and leave the service. Does nothing if they do not run here."""
        with self._changing:
            supervisor, self._supervisor = self._supervisor, None
            membership, self._membership = self._membership, None
            states, self._states = self._states, None
            self._places = self._gained = _NO_PLACES
            self._ending = supervisor or self._ending
        if supervisor is not None:
            supervisor.close()
        if states is not None:
            states.close()
        if membership is not None:
            membership.close()

    def apply(self) -> None:
        """Apply a change of the desired queries; the caller holds the lock."""
        self._share(self._replayed.wanted)

    def wait_stopped(self, ended: Mapping[str, DesiredQuery]) -> None:
        """Wait until ended queries have stopped, here or, for less long, on other servers."""
        if (supervisor := self._supervisor) is not None:
            supervisor.wait_stopped(ended, _STOP_S)
        places = self._places
        left = {one: of for one, of in ended.items() if place_of(of.number) not in places}
        deadline = time.monotonic() + _STOP_ELSEWHERE_S
        try:
            while left and (left := still_stopping(self._bootstrap, self._service_id, left)):
                if time.monotonic() > deadline or self.given_up.wait(_ASK_STOPPED_S):
                    logger.warning(
                        "queries on other servers have not stopped yet: %s", ", ".join(left)
                    )
                    return
        except (BrokerUnavailable, KafkaError) as error:
            logger.debug("cannot ask for queries on other servers: %s", error.message)

    def wait_settled(self, timeout_s: float) -> bool:
        """Wait until each query is running, paused or failed; return false after the timeout."""
        supervisor = self._supervisor
        return supervisor is None or supervisor.wait_settled(timeout_s)

    def live(self, *, with_progress: bool = False) -> list[LiveQuery]:
        """Return the queries with their current states.

        Other members have reported the states of theirs; if there is no member, they are
        UNRESPONSIVE.
        """
        with self._lock:
            wanted = dict(self._replayed.wanted)
        supervisor = self._supervisor
        found: dict[str, LiveQuery] = {}
        if supervisor is not None:
            live = supervisor.live_all(with_progress=with_progress)
            found = {one.id: replace(one, host=self._address) for one in live}
        others = {one: of for one, of in wanted.items() if one not in found}
        membership = self._membership
        me = None if membership is None else membership.member
        for one in followed(self._bootstrap, self._service_id, others, me):
            found[one.id] = one
        return [found[one] for one in wanted]

    def members(self) -> list[Member]:
        """Return the processes that run the queries.

        Raises:
            KafkaError: the broker does not answer.
        """
        return members_of_service(self._bootstrap, self._service_id)

    def others(self) -> list[Member]:
        """Return the other processes that run the queries; raises as `members`."""
        return [one for one in self.members() if one.name != self._name]

    def gain(self, membership: Membership, places: frozenset[int]) -> None:
        """Run the queries of these places, too, once the catalog was read."""
        with self._changing:
            if membership is self._membership:
                self._gained |= places

    def release(self, membership: Membership, places: frozenset[int]) -> None:
        """Stop the queries of these places; return when none of them runs any more."""
        with self._changing:
            if membership is self._membership:
                self._gained -= places
                self._places -= places
                self._divide()
            ids = [one for one, of in self._known.items() if place_of(of.number) in places]
            supervisors, states = (self._supervisor, self._ending), self._states
        for supervisor in supervisors:
            while supervisor is not None and not supervisor.wait_stopped(ids, _STOP_S):
                # Until this returns, no other server gets places, not even those of a dead one.
                logger.warning("queries that move to another server have not stopped in time")
                supervisor.force_stop(ids)
        if states is not None:
            states.flush()

    def lose(self, membership: Membership) -> None:
        """Stop the queries after missed heartbeats, and start them again once possible."""
        if membership is not self._membership:
            return
        logger.warning(
            "the broker has missed heartbeats of service %s; stopping its queries",
            self._service_id,
        )
        self.stop()
        if self._standing_by:
            self.stand_by(self._address)
        else:
            threading.Thread(target=self._regain, name="duolog-sql-regain", daemon=True).start()

    def _start(self, *, waits: bool) -> None:
        with self._starting:
            with self._lock:
                self._follow()
                if self._supervisor is not None or not self._replayed.state.queries:
                    return
            make_places(self._bootstrap, self._service_id)
            membership = Membership(self._bootstrap, self._service_id, self)
            self._become(membership)
            if self.given_up.is_set():
                membership.give_up()
            membership.acquire(waits=waits)
            if self.given_up.is_set():
                self.stop()
                return
            with self._lock:
                self._follow()
                self._run(membership)

    def _become(self, membership: Membership) -> None:
        with self._changing:
            self._membership = membership
            self._name = membership.name
            self._places = self._gained = _NO_PLACES

    def _run(self, membership: Membership) -> None:
        """Start the supervisor, unless the membership was lost meanwhile.

        The caller holds the lock, and has read the catalog.
        """
        supervisor = self._supervise(self._look)
        wanted = self._replayed.wanted
        with self._changing:
            if self._membership is not membership:
                return
            self._states = QueryStates(self._bootstrap, self._service_id, membership.name)
            self._supervisor = supervisor
        self._share(wanted)
        # If it is stopped now, it starts nothing.
        supervisor.start(self._replayed.ended)

    def _share(self, wanted: Mapping[str, DesiredQuery]) -> None:
        """Let the queries of this process's places run; `wanted` are all queries of now."""
        with self._changing:
            self._known = wanted
            self._places |= self._gained
            self._gained = _NO_PLACES
            self._divide()

    def _divide(self) -> None:
        """Tell the supervisor which queries run here; the caller holds `_changing`."""
        if self._supervisor is None:
            return
        here: dict[str, DesiredQuery] = {}
        elsewhere: dict[str, DesiredQuery] = {}
        for query_id, one in self._known.items():
            part = here if place_of(one.number) in self._places else elsewhere
            part[query_id] = one
        self._supervisor.want(here, elsewhere)

    def _wait_for_turn(self) -> None:
        """Join the servers of the service, once no other process runs its queries alone."""
        reported = ""
        while not self.given_up.is_set():
            membership = Membership(
                self._bootstrap, self._service_id, self, shares=True, address=self._address
            )
            try:
                make_places(self._bootstrap, self._service_id)
                runs_alone = any(not one.shares for one in membership.others())
            except (BrokerUnavailable, KafkaError) as error:
                # Repeated every two seconds, so it is a warning once.
                reason = "; ".join(str(error).splitlines())
                level = logging.DEBUG if reason == reported else logging.WARNING
                logger.log(level, "cannot join the servers of the service: %s", reason)
                reported = reason
                self.given_up.wait(_REGAIN_S)
                continue
            if runs_alone:
                self.given_up.wait(_TURN_S)
                continue
            with self._lock:
                if self.given_up.is_set():
                    return
                self._become(membership)
            membership.join()
            while not membership.wait_gained(_TURN_S):
                if self.given_up.is_set() or self._membership is not membership:
                    return
            if self._take_turn(membership):
                return
            membership.close()
            self.given_up.wait(_REGAIN_S)

    def _take_turn(self, membership: Membership) -> bool:
        """Run queries as a member; return false if the catalog cannot be read now."""
        try:
            with self._lock:
                if self.given_up.is_set() or self._membership is not membership:
                    return True
                self._follow()
                self._run(membership)
        except (BrokerUnavailable, KafkaError) as error:
            logger.warning("cannot run the queries yet: %s", error.message)
            return False
        except CommandDamaged as damage:
            logger.warning("%s: %s", damage.message, damage.detail)
        return True

    def _look(self) -> None:
        """Follow other processes, unless a statement holds the lock; called by the supervisor."""
        is_due = time.monotonic() - self._followed_at >= _FOLLOW_S or self._gained
        if not is_due or not self._lock.acquire(blocking=False):
            return
        try:
            self._followed_at = time.monotonic()
            self._replayed.follow()
            self._share(self._replayed.wanted)
            supervisor, states = self._supervisor, self._states
            if supervisor is not None and states is not None:
                stopping = supervisor.stopping()
                states.publish(supervisor.live_all(), self._known, stopping)
                if stopping:
                    self._followed_at = 0.0  # Others wait until they have stopped.
        except (KafkaError, BrokerUnavailable) as error:
            logger.debug("cannot follow the command topic: %s", error.message)
        except CommandDamaged as damage:
            if damage is not self._damage:  # It stays, and this is called twice a second.
                self._damage = damage
                logger.warning("%s: %s", damage.message, damage.detail)
        finally:
            self._lock.release()

    def _try_again(self) -> None:
        """Start the queries if the process that ran them has crashed."""
        try:
            self.start()
        except (ServiceInUse, BrokerUnavailable, KafkaError, CommandDamaged) as error:
            logger.debug("the queries do not run here: %s", error.message)

    def _regain(self) -> None:
        while not self.given_up.wait(_REGAIN_S) and self._supervisor is None:
            try:
                self.start()
            except (ServiceInUse, BrokerUnavailable, KafkaError) as error:
                logger.debug("cannot run the queries again: %s", error.message)
            except CommandDamaged as damage:
                logger.warning("%s: %s", damage.message, damage.detail)
                return
