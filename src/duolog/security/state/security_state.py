"""The state of all users, rights, roles and tokens: what the records of `__security` add up to.

A change counts once its record is durable and is applied here; applying a record twice changes
nothing. The state of a restarted broker, and of any reader of the topic, is therefore the same.

Threads: one thread, the event loop of the server.
"""

import hmac
from typing import TYPE_CHECKING, Final

from duolog.security.authorization.acl_index import AclIndex
from duolog.security.credentials.tokens import Token, digest_of, id_of
from duolog.security.identity.principal import ROLE, Principal
from duolog.security.records.records import (
    AclChange,
    BootstrapChange,
    Change,
    DecoyChange,
    RoleMemberChange,
    ScramChange,
    TokenChange,
)

if TYPE_CHECKING:
    from duolog.security.credentials.scram import ScramCredential, ScramMechanism

ADMINISTRATORS: Final = Principal(ROLE, "administrators")
"""The role whose members are super users; the first administrator is its first member."""


class SecurityState:
    """Users, rights, roles and tokens."""

    def __init__(self) -> None:
        self.acls = AclIndex()
        """Rules, and the roles of principals."""
        self.users: dict[str, dict[ScramMechanism, ScramCredential]] = {}
        """The credentials of users; a user without any is not listed."""
        self.users_epoch = 0
        """Grows when a credential changes."""
        self._epochs: dict[str, int] = {}
        self.members: dict[Principal, set[Principal]] = {}
        """The members of roles; an empty role is not listed."""
        self.tokens: dict[str, Token] = {}
        """Tokens by id."""
        self.bootstrapped: str | None = None
        """The first administrator, if one was created."""
        self.decoy_secret: bytes | None = None

    def apply(self, change: Change) -> None:
        """Apply a change."""
        match change:
            case ScramChange():
                self._apply_scram(change)
            case AclChange(acl, present):
                if present:
                    self.acls.add(acl)
                else:
                    self.acls.remove(acl)
            case RoleMemberChange():
                self._apply_member(change)
            case TokenChange(token_id, None):
                self.tokens.pop(token_id, None)
            case TokenChange(token_id, Token() as token):
                self.tokens[token_id] = token
            case BootstrapChange(user):
                self.bootstrapped = user
            case DecoyChange(secret):
                self.decoy_secret = secret

    def token(self, text: str, now_ms: int) -> Token | None:
        """Return the stored part of a token that a client has sent; None if it is not valid."""
        digest = digest_of(text)
        found = self.tokens.get(id_of(digest))
        if found is None or not hmac.compare_digest(found.digest, digest):
            return None
        return None if found.expires_at_ms is not None and found.expires_at_ms <= now_ms else found

    def epoch_of(self, user: str) -> int:
        """Return a number that grows when a credential of a user changes."""
        return self._epochs.get(user, 0)

    def _apply_scram(self, change: ScramChange) -> None:
        self.users_epoch += 1
        self._epochs[change.user] = self.users_epoch
        credentials = self.users.setdefault(change.user, {})
        if change.credential is None:
            credentials.pop(change.mechanism, None)
        else:
            credentials[change.mechanism] = change.credential
        if not credentials:
            del self.users[change.user]

    def _apply_member(self, change: RoleMemberChange) -> None:
        members = self.members.setdefault(change.role, set())
        if change.present:
            members.add(change.member)
        else:
            members.discard(change.member)
        if not members:
            del self.members[change.role]
        roles = (role for role, of_role in self.members.items() if change.member in of_role)
        self.acls.set_roles(change.member, frozenset(roles))
