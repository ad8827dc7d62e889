"""The SASL mechanisms that are enabled, and the credentials that their exchanges verify."""

import secrets
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from duolog.security.credentials.scram import BY_NAME, ScramCredential, ScramMechanism
from duolog.security.credentials.tokens import PREFIX
from duolog.security.sasl.bearer_exchange import BearerExchange, InvalidToken, Verify
from duolog.security.sasl.decoys import Form, decoy, usual_form
from duolog.security.sasl.plain_exchange import PlainExchange, Stored
from duolog.security.sasl.scram_exchange import ScramExchange

if TYPE_CHECKING:
    from duolog.security.identity.principal import Principal
    from duolog.security.sasl.exchange import Exchange
    from duolog.security.state.security_state import SecurityState

PLAIN: Final = "PLAIN"
OAUTHBEARER: Final = "OAUTHBEARER"
_NONCE_BYTES: Final = 24
_SECRET_BYTES: Final = 32


def no_sasl(_listener: str) -> tuple[str, ...]:
    """Return no mechanism, for a server whose protocol has no SASL."""
    return ()


def no_issuer(_listener: str) -> None:
    """Return no issuer, for a server that accepts only its own tokens."""


class Mechanisms:
    """Begins exchanges over the users of one server."""

    def __init__(
        self,
        state: "SecurityState",
        enabled_at: Callable[[str], tuple[str, ...]],
        now_ms: Callable[[], int],
        verify_at: Callable[[str], Verify | None] = no_issuer,
    ) -> None:
        self.enabled_at = enabled_at
        """Returns the mechanisms of a listener."""
        self._state = state
        self._now_ms = now_ms
        self._verify_at = verify_at
        self._own_secret = secrets.token_bytes(_SECRET_BYTES)
        """Used for decoys until there is a stored secret."""
        self._usual = _Usual(-1, ScramMechanism.SCRAM_SHA_512, {})

    @property
    def users_epoch(self) -> int:
        """A number that grows when a credential changes: remembered passwords then expire."""
        return self._state.users_epoch

    def epoch_of(self, user: str) -> int:
        """Return a number that grows when a credential of a user changes: its sessions then end."""
        return self._state.epoch_of(user)

    def begin(self, mechanism: str, listener: str) -> "Exchange | None":
        """Begin an exchange; None if the mechanism is not enabled at the listener."""
        if mechanism not in self.enabled_at(listener):
            return None
        if mechanism == PLAIN:
            return PlainExchange(self.stored)
        if mechanism == OAUTHBEARER:
            return BearerExchange(partial(self.verify_token, listener=listener))
        scram = BY_NAME[mechanism]
        nonce = secrets.token_urlsafe(_NONCE_BYTES)
        return ScramExchange(scram, partial(self._scram, scram), nonce)

    def stored(self, user: str) -> Stored:
        """Return the credential that verifies a password, or a decoy for an unknown user."""
        found = self._state.users.get(user)
        if found:
            mechanism = max(found)
            return Stored(mechanism, found[mechanism], known=True)
        mechanism = self._usual_users().mechanism
        return Stored(mechanism, self._scram(mechanism, user)[0], known=False)

    def has_user(self, user: str) -> bool:
        """Return whether a user has a password."""
        return user in self._state.users

    def verify_token(self, text: str, listener: str = "") -> "tuple[Principal, int | None]":
        """Return the principal of a bearer token and when it expires, in ms.

        A token that is not one of this server must be of the listener's issuer.

        Raises:
            InvalidToken: the token is not valid.
        """
        if text.startswith(PREFIX):
            token = self._state.token(text, self._now_ms())
            if token is None:
                raise InvalidToken("unknown, revoked or expired token")
            return token.principal, token.expires_at_ms
        verify = self._verify_at(listener)
        if verify is None:
            raise InvalidToken("token is not one of this server, and no issuer is configured")
        return verify(text)

    def _scram(self, mechanism: ScramMechanism, user: str) -> tuple[ScramCredential, bool]:
        secret = self._state.decoy_secret or self._own_secret
        form = self._usual_users().forms[mechanism]
        # Computed for known users, too: the time must not distinguish them.
        unknown = decoy(secret, mechanism, user, form)
        found = self._state.users.get(user, {}).get(mechanism)
        return (unknown, False) if found is None else (found, True)

    def _usual_users(self) -> "_Usual":
        state = self._state
        if self._usual.epoch != state.users_epoch:
            counts = Counter(max(found) for found in state.users.values())
            self._usual = _Usual(
                state.users_epoch,
                # Ties go to SHA-512, by which a user that has both is verified.
                max(ScramMechanism, key=lambda each: (counts[each], each)),
                {each: usual_form(state.users, each) for each in ScramMechanism},
            )
        return self._usual


class ListenerMechanisms(NamedTuple):
    """The mechanisms of one listener."""

    mechanisms: Mechanisms
    listener: str

    @property
    def enabled(self) -> tuple[str, ...]:
        """The names of the mechanisms."""
        return self.mechanisms.enabled_at(self.listener)

    def begin(self, mechanism: str) -> "Exchange | None":
        """Begin an exchange; None if the mechanism is not enabled."""
        return self.mechanisms.begin(mechanism, self.listener)


class _Usual(NamedTuple):
    """The credentials that most users have: decoys look like them, and cost as much."""

    epoch: int
    mechanism: ScramMechanism
    forms: dict[ScramMechanism, Form]
