"""The users, rights and tokens of a cluster, replayed from its topic `__security`.

    load ─▶ follow ── the topic cannot be read ──▶ last state stays in force ─▶ load again ─▶ follow

Changes count as soon as they are read, without a restart. While no broker answers, or the
registry's own user has lost the right to read the topic, the last state stays in force; the log
says so, and `age_s` grows. A topic that could not be read for `RELOAD_S` is loaded again from its
start into a new state: compaction may have dropped the tombstone of a revoked token.

Apache Kafka has no such topic of its own: it is created there, and holds what `duolog tokens`,
`duolog users roles` and `duolog acls --subject` write.

Threads: `load` runs in the caller's thread. Afterwards, state changes on the event loop only.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from duolog.core.errors import DuologError, KafkaError
from duolog.registry.store.clients import KafkaOptions
from duolog.registry.store.errors import StoreUnavailable
from duolog.registry.store.follower import TopicFollower
from duolog.registry.store.topic import ensure_topic
from duolog.security.authorization.acl_authorizer import SECURITY_TOPIC, AclAuthorizer
from duolog.security.logins.mechanisms import Mechanisms, no_sasl
from duolog.security.records.records import SecurityRecordDamaged, decode_stored
from duolog.security.state.security_state import SecurityState

if TYPE_CHECKING:
    import asyncio

    from duolog.core.clock import Clock
    from duolog.registry.access.settings import AccessSettings
    from duolog.registry.store.stored import StoredRecord
    from duolog.security.authorization.authorizer import Authorizer
    from duolog.security.logins.audit import Audit
    from duolog.security.sasl.bearer_exchange import Verify

logger = logging.getLogger(__name__)

RETRY_S: Final = 5.0
_STOP_S: Final = 3.0
RELOAD_S: Final = 3600.0
"""Shorter than the time for which a compacted topic keeps tombstones."""

Follow = Callable[..., TopicFollower]


class _Users(NamedTuple):
    """One state, and what answers from it."""

    state: SecurityState
    mechanisms: Mechanisms
    authorizer: "Authorizer | None"


class ClusterUsers:
    """Follows the topic of one cluster.

    Args:
        options: the clients of the registry; the topic is replaced.
        verify_jwt: verifies tokens of an issuer, if there is one.
        audit: gets refused changes.
        follow: makes a follower of the topic.
    """

    def __init__(
        self,
        options: KafkaOptions,
        settings: "AccessSettings",
        clock: "Clock",
        audit: "Audit",
        *,
        verify_jwt: "Verify | None" = None,
        follow: Follow = TopicFollower,
    ) -> None:
        self._options = replace(options, topic=SECURITY_TOPIC)
        self._settings = settings
        self._clock = clock
        self._audit = audit
        self._verify_jwt = verify_jwt
        self._follow = follow
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = threading.Event()
        self._reloading: threading.Thread | None = None
        self._users = self._new()
        self._follower: TopicFollower | None = None
        self._read_at = clock.monotonic()
        self.reachable = True
        """False while the topic cannot be read."""

    @property
    def mechanisms(self) -> Mechanisms:
        """The credentials of now."""
        return self._users.mechanisms

    @property
    def authorizer(self) -> "Authorizer | None":
        """The rights of now; None if every user may do everything."""
        return self._users.authorizer

    @property
    def age_s(self) -> float:
        """Seconds since it was last certain that nothing newer exists."""
        return self._clock.monotonic() - self._read_at

    def load(self) -> None:
        """Read the topic to its end; it is created if missing.

        Raises:
            KafkaError: it cannot be read.
            SecurityRecordDamaged: a record has no meaning.
        """
        try:
            ensure_topic(self._options)
            self._follower, self._users = self._loaded()
        except KafkaError as error:
            raise StoreUnavailable(
                f'the users in topic "{SECURITY_TOPIC}" cannot be read',
                code=error.code,
                detail=error.one_line(),
                hint="The registry's own user needs CLUSTER_ACTION on the cluster. A Duolog broker "
                "creates the topic with its first user, and needs an authorizer.",
            ) from error
        self._read_at = self._clock.monotonic()

    def start(self, loop: "asyncio.AbstractEventLoop") -> None:
        """Follow the topic from now on."""
        self._loop = loop
        assert self._follower is not None, "the topic is loaded before it is followed"
        self._follower.start()

    def stop(self) -> None:
        """End the threads and close the clients."""
        self._stopping.set()
        if self._reloading is not None:
            self._reloading.join(_STOP_S)  # It may wait for a broker, and holds nothing.
        if self._follower is not None:
            self._follower.stop()

    def _new(self) -> _Users:
        state, settings = SecurityState(), self._settings
        authorizer = AclAuthorizer(
            state.acls,
            super_users=settings.super_users,
            everyone_if_no_acl=settings.everyone_if_no_acl,
            on_refusal=self._audit.denied,
        )
        mechanisms = Mechanisms(state, no_sasl, self._clock.now_ms, lambda _: self._verify_jwt)
        return _Users(state, mechanisms, authorizer if settings.authorizes else None)

    def _loaded(self) -> tuple[TopicFollower, _Users]:
        """Return a new state with all records, and the follower that has read them."""
        users = self._new()
        loading = True

        def deliver(records: "Sequence[StoredRecord]") -> None:
            if loading:
                _apply(users.state, records)
            else:
                self._on_loop(lambda: self._applied(users, records))

        follower = self._follow(
            self._options,
            deliver,
            lambda error: self._on_loop(lambda: self._failed(error)),
            reached=lambda reachable: self._on_loop(lambda: self._probed(reachable)),
        )
        try:
            follower.load()
        except BaseException:
            follower.stop()
            raise
        loading = False
        return follower, users

    def _on_loop(self, call: Callable[[], None]) -> None:
        assert self._loop is not None
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call)

    def _applied(self, users: _Users, records: "Sequence[StoredRecord]") -> None:
        try:
            _apply(users.state, records)
        except SecurityRecordDamaged as error:
            self._failed(error)

    def _probed(self, reachable: bool) -> None:  # noqa: FBT001 - a callback
        if reachable:
            away_s = self.age_s
            self._read_at = self._clock.monotonic()
            if not self.reachable:
                logger.info("users and rights are read again", extra={"after_s": round(away_s)})
            self.reachable = True
            if away_s > RELOAD_S:
                self._reload()
        elif self.reachable:
            self.reachable = False
            logger.warning(
                "users and rights cannot be read; the last ones stay in force",
                extra={"topic": SECURITY_TOPIC},
            )

    def _failed(self, error: Exception) -> None:
        self._probed(reachable=False)
        reason = error.one_line() if isinstance(error, DuologError) else str(error)
        logger.warning("loading users and rights again", extra={"reason": reason})
        self._reload()

    def _reload(self) -> None:
        """Replace state and follower in the background, as soon as the topic can be read."""
        if self._stopping.is_set() or (self._reloading is not None and self._reloading.is_alive()):
            return
        self._reloading = threading.Thread(
            target=self._try_to_reload, name="security-reload", daemon=True
        )
        self._reloading.start()

    def _try_to_reload(self) -> None:
        old = self._follower
        if old is not None:
            old.stop()
        while not self._stopping.is_set():
            try:
                follower, users = self._loaded()
            except DuologError as error:
                reason = error.one_line()
                logger.warning("users and rights cannot be loaded", extra={"reason": reason})
            else:
                self._on_loop(partial(self._replace, follower, users))
                return
            self._stopping.wait(RETRY_S)

    def _replace(self, follower: TopicFollower, users: _Users) -> None:
        self._follower, self._users = follower, users
        self._probed(reachable=True)
        if not self._stopping.is_set():
            follower.start()


def _apply(state: SecurityState, records: "Sequence[StoredRecord]") -> None:
    for record in records:
        change = decode_stored(record.key, record.value, record.offset)
        if change is not None:
            state.apply(change)
