"""Users of a cluster: their SCRAM credentials, without secrets.

A password gives a credential for each mechanism, so that it serves PLAIN, too. Passwords do not
leave this process: a broker gets what PBKDF2 makes of them.

Source: KIP-554.
"""

import secrets
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from duolog.core.errors import KafkaError
from duolog.runtime.administration.rights import ensure_answered
from duolog.runtime.administration.wire import Wire
from duolog.security.credentials.scram import (
    PASSWORD_CHARACTERS_MIN,
    SALT_BYTES,
    USER_CHARACTERS_MAX,
    ScramMechanism,
    salted_password,
)
from duolog.security.identity.principal import USER, Principal
from duolog.security.state.security_state import ADMINISTRATORS, SecurityState

ITERATIONS: Final = 8192
NOT_FOUND: Final = 91
DUPLICATE: Final = 92
_INVALID: Final = 42
_DESCRIBE: Final = (50, 0)
_ALTER: Final = (51, 0)


class Credential(NamedTuple):
    """A credential of a user, without its secrets."""

    mechanism: ScramMechanism
    iterations: int


def credentials_of_users(wire: Wire) -> dict[str, list[Credential]]:
    """Return the credentials of each user.

    Raises:
        KafkaError: no broker answers, or the user may not read the list.
    """
    # confluent-kafka 2.16 ends by a segmentation fault if the broker refuses this request.
    answer = wire.ask(*_DESCRIBE, users=None)
    ensure_answered(answer, "read the list of users")
    return {
        row.user: [
            Credential(ScramMechanism(info.mechanism), int(info.iterations))
            for info in row.credential_infos
        ]
        for row in answer.results
    }


class Users:
    """The users of a cluster.

    Args:
        connect: opens a connection to the cluster.

    Every method raises a KafkaError if no broker answers, or if it refuses.
    """

    def __init__(self, connect: Callable[[], Wire]) -> None:
        self._connect = connect

    def described(self) -> Mapping[str, list[Credential]]:
        """Return the credentials of each user."""
        with self._connect() as wire:
            return credentials_of_users(wire)

    def add(self, user: str, password: str) -> None:
        """Add a user; also raises if the user exists, or name or password cannot be used."""
        _ensure_name(user)
        _ensure_password(password)
        with self._connect() as wire:
            if user in credentials_of_users(wire):
                raise KafkaError(
                    f'user "{user}" exists', code=DUPLICATE, hint="Change the password instead."
                )
            _set_password(wire, user, password)

    def change_password(self, user: str, password: str) -> None:
        """Change the password of a user; also raises if there is no such user."""
        _ensure_password(password)
        with self._connect() as wire:
            _ensure_known(user, credentials_of_users(wire))
            _set_password(wire, user, password)

    def remove(self, user: str) -> None:
        """Remove all credentials of a user; also raises if there is no such user."""
        with self._connect() as wire:
            known = credentials_of_users(wire)
            _ensure_known(user, known)
            # A request may alter a user only once.
            for each in known[user]:
                row = {"name": user, "mechanism": int(each.mechanism)}
                _alter(wire, f'remove user "{user}"', deletions=[row], upsertions=[])


def is_last_administrator(state: SecurityState, user: str) -> bool:
    """Return whether no other user with a password has the role `administrators`.

    Super users of the settings, and those who log in by certificates or tokens of an issuer, are
    not known here.
    """
    members = state.members.get(ADMINISTRATORS, set())
    return {name for name in state.users if Principal(USER, name) in members} == {user}


def roles_of(state: SecurityState, user: str) -> list[str]:
    """Return the roles of a user, sorted."""
    principal = Principal(USER, user)
    return sorted(role.name for role, members in state.members.items() if principal in members)


def _ensure_name(user: str) -> None:
    if not user or len(user) > USER_CHARACTERS_MAX or not user.isprintable():
        raise KafkaError(
            "the name of a user cannot be used",
            code=_INVALID,
            hint=f"Use 1 to {USER_CHARACTERS_MAX} characters that can be printed.",
        )


def _ensure_password(password: str) -> None:
    if len(password) < PASSWORD_CHARACTERS_MIN or not password.isprintable():
        raise KafkaError(
            "the password is too short, or has characters that cannot be printed",
            code=_INVALID,
            hint=f"Use one line of at least {PASSWORD_CHARACTERS_MIN} characters.",
        )


def _ensure_known(user: str, known: Mapping[str, object]) -> None:
    if user not in known:
        raise KafkaError(f'user "{user}" does not exist', code=NOT_FOUND, hint="List the users.")


def _set_password(wire: Wire, user: str, password: str) -> None:
    for mechanism in ScramMechanism:
        # A salt as the broker makes it: with another size, unknown names would look different.
        salt = secrets.token_bytes(SALT_BYTES)
        row = {
            "name": user,
            "mechanism": int(mechanism),
            "iterations": ITERATIONS,
            "salt": salt,
            "salted_password": salted_password(mechanism, password, salt, ITERATIONS),
        }
        _alter(wire, f'set the password of user "{user}"', deletions=[], upsertions=[row])


def _alter(
    wire: Wire,
    doing: str,
    *,
    deletions: list[dict[str, object]],
    upsertions: list[dict[str, object]],
) -> None:
    answer = wire.ask(*_ALTER, deletions=deletions, upsertions=upsertions)
    for row in answer.results:
        ensure_answered(row, doing)
