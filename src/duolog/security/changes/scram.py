"""Alter SCRAM credentials.

A user may be altered only once per request, even if the mechanisms differ. When a user loses the
last credential, its tokens are revoked, too: to remove a user means all its logins. Users that only
ever had tokens keep them.

Source: Kafka `ScramControlManager.alterCredentials`, KIP-554.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from duolog.protocol.error_codes import ErrorCode
from duolog.security.changes.problem import Problem
from duolog.security.credentials.scram import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    SALT_BYTES_MAX,
    USER_CHARACTERS_MAX,
    ScramMechanism,
    credential,
)
from duolog.security.identity.principal import USER, Principal
from duolog.security.records.records import ScramChange, TokenChange
from duolog.security.state.security_state import SecurityState


class Deletion(NamedTuple):
    """The removal of a credential."""

    user: str
    mechanism: int
    """Kafka's code of the mechanism."""


class Upsertion(NamedTuple):
    """A new or changed credential."""

    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        return f"Upsertion({self.user!r}, {self.mechanism}, ***)"


class Altered(NamedTuple):
    """The problem of each user, or None, and the changes to make."""

    results: dict[str, Problem | None]
    changes: list[ScramChange]
    revoked: list[TokenChange]
    """The removals of the tokens of users that lose their last credential."""


def alter_credentials(
    state: SecurityState, deletions: Sequence[Deletion], upsertions: Sequence[Upsertion]
) -> Altered:
    """Decide about the alterations of one request; users are in the order of the request."""
    alterations: list[Deletion | Upsertion] = [*deletions, *upsertions]
    results: dict[str, Problem | None] = dict.fromkeys((row.user for row in alterations), None)
    seen: set[str] = set()
    for row in alterations:
        if results[row.user] is None:  # The first problem of a user is reported.
            results[row.user] = _problem(state, row, again=row.user in seen)
        seen.add(row.user)
    changes = [_change(row) for row in alterations if results[row.user] is None]
    return Altered(results, changes, list(_revoked(state, changes)))


def _revoked(state: SecurityState, changes: Sequence[ScramChange]) -> Iterator[TokenChange]:
    left = {change.user: set(state.users.get(change.user, ())) for change in changes}
    for change in changes:
        if change.credential is None:
            left[change.user].discard(change.mechanism)
        else:
            left[change.user].add(change.mechanism)
    removed = {Principal(USER, user) for user, mechanisms in left.items() if not mechanisms}
    for token_id, token in state.tokens.items():
        if token.principal in removed:
            yield TokenChange(token_id, None)


def _problem(state: SecurityState, row: Deletion | Upsertion, *, again: bool) -> Problem | None:
    if again:
        return Problem(
            ErrorCode.DUPLICATE_RESOURCE,
            "a user credential cannot be altered twice in the same request",
        )
    if problem := _name_problem(row.user):
        return problem
    if row.mechanism not in list(ScramMechanism):
        return Problem(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "unknown SCRAM mechanism")
    if isinstance(row, Upsertion):
        return _secret_problem(row)
    if ScramMechanism(row.mechanism) not in state.users.get(row.user, ()):
        return Problem(
            ErrorCode.RESOURCE_NOT_FOUND, "attempt to delete a credential that does not exist"
        )
    return None


def _name_problem(user: str) -> Problem | None:
    if not user:
        return Problem(ErrorCode.UNACCEPTABLE_CREDENTIAL, "user name must not be empty")
    if len(user) > USER_CHARACTERS_MAX or not user.isprintable():
        return Problem(
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            f"user name must be printable and have at most {USER_CHARACTERS_MAX} characters",
        )
    return None


def _secret_problem(row: Upsertion) -> Problem | None:
    if not ITERATIONS_MIN <= row.iterations <= ITERATIONS_MAX:
        return Problem(
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            f"iterations must be between {ITERATIONS_MIN} and {ITERATIONS_MAX}",
        )
    fits = 0 < len(row.salt) <= SALT_BYTES_MAX  # It is sent to clients that have proved nothing.
    if not fits or len(row.salted_password) != ScramMechanism(row.mechanism).digest_bytes:
        return Problem(
            ErrorCode.UNACCEPTABLE_CREDENTIAL, "salt or salted password has a wrong length"
        )
    return None


def _change(row: Deletion | Upsertion) -> ScramChange:
    mechanism = ScramMechanism(row.mechanism)
    if isinstance(row, Deletion):
        return ScramChange(row.user, mechanism, None)
    stored = credential(mechanism, row.salted_password, row.salt, row.iterations)
    return ScramChange(row.user, mechanism, stored)
