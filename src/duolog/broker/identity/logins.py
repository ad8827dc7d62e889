"""The logins of all connections, and what they share: mechanisms, limits, threads.

Passwords are checked on a thread of their own, one at a time, next to the event loop. If many wait,
further logins fail at once: a flood of wrong passwords must not grow without bound. No address can
keep the others out by it, see `check_places`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from duolog.broker.event_loop.background import BesideTheLoop
from duolog.broker.identity.login import Login
from duolog.core.units import SECOND_MS
from duolog.security.logins.check_places import CheckPlaces
from duolog.security.logins.inner import INNER_LISTENER
from duolog.security.logins.login_limits import LoginLimits
from duolog.security.logins.mechanisms import ListenerMechanisms
from duolog.security.records.records import ScramChange, TokenChange
from duolog.security.sasl.exchange import Failure, Result, Slow

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timers
    from duolog.broker.identity.needs import Broker, Connection
    from duolog.core.clock import Clock
    from duolog.security.logins.audit import Audit
    from duolog.security.logins.inner import Exchanges, InnerExchanges
    from duolog.security.logins.mechanisms import Mechanisms
    from duolog.security.records.records import Change

_WAITING_MAX: Final = 128
_TOO_MANY: Final = Failure("too many passwords are being checked", guessed=False)


class Logins:
    """The logins of one broker."""

    def __init__(self, broker: "Broker", mechanisms: "Mechanisms", audit: "Audit") -> None:
        self.clock: Clock = broker.clock
        self.mechanisms = mechanisms
        self.inner: InnerExchanges | None = None
        """The login of a server that the broker runs itself, on a listener of its own."""
        self.audit = audit
        self.limits = LoginLimits(broker.clock)
        self._broker = broker
        self._passwords = BesideTheLoop(broker.loop)
        self._places = CheckPlaces(_WAITING_MAX)
        self._logins: dict[Connection, Login] = {}

    def exchanges(self, listener: str) -> "Exchanges":
        """Return the mechanisms of a listener."""
        if listener == INNER_LISTENER:
            assert self.inner is not None, "the inner listener is opened with its login"
            return self.inner
        return ListenerMechanisms(self.mechanisms, listener)

    @property
    def timers(self) -> "Timers":
        return self._broker.timers

    @property
    def failure_delay_s(self) -> float:
        """The seconds after which a failed login is answered."""
        settings = self._broker.settings
        return settings.integer("connection.failed.authentication.delay.ms") / SECOND_MS

    def of(self, connection: "Connection") -> Login:
        """Return the login of a connection, which lives as long as the connection."""
        login = self._logins.get(connection)
        if login is None:
            login = self._logins[connection] = Login(self, connection)
            connection.on_close.append(lambda: self._forget(connection))
        return login

    def lifetime_ms(self, listener: str, expires_at_ms: int | None) -> int | None:
        """Return how long a session at a listener may last; None if it does not expire."""
        settings = self._broker.settings
        longest_ms = int(settings.of_listener(listener, "connections.max.reauth.ms"))
        lifetimes_ms = [longest_ms] if longest_ms > 0 else []
        if expires_at_ms is not None:
            lifetimes_ms.append(max(0, expires_at_ms - self.clock.now_ms()))
        return min(lifetimes_ms, default=None)

    def compute(self, step: Slow, host: str, done: Callable[[Result], None]) -> None:
        """Run a slow step of a client on the thread of passwords, then `done` on the loop."""
        place = self._places.take(host, on_drop=lambda: done(_TOO_MANY))
        if place is None:
            done(_TOO_MANY)
            return

        def work() -> Result:
            return _TOO_MANY if place.dropped else step.work()

        def finished(result: Result | None, error: Exception | None) -> None:
            if place.dropped:
                return  # It has failed already.
            place.leave()
            if result is None:  # The text of an unexpected error could show the password.
                result = Failure(f"check of the password failed: {type(error).__name__}")
            done(result)

        self._passwords.call(work, finished)

    def has_user(self, user: str) -> bool:
        """Return whether a user has a password."""
        return self.mechanisms.has_user(user)

    def revoke(self, change: "Change") -> None:
        """End the sessions of a user or a token that a change of `__security` has removed.

        A new password ends no session: programs with the old one continue until they log in again.
        """
        match change:
            case ScramChange(user, _, None) if not self.has_user(user):
                self._end("the user was removed", lambda login: login.is_of_user(user))
            case TokenChange(token_id, None):
                self._end("the token was revoked", lambda login: login.is_of_token(token_id))

    def _end(self, reason: str, concerned: Callable[[Login], bool]) -> None:
        for login in [each for each in self._logins.values() if concerned(each)]:
            login.revoke(reason)

    def close(self) -> None:
        """End the thread."""
        self._passwords.close()

    def _forget(self, connection: "Connection") -> None:
        self._logins.pop(connection).close()
