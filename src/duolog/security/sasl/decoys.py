"""Credentials of users that do not exist: what makes them look like others.

A SCRAM server shows salt and iterations before the client has proved anything. For an unknown user
it shows a salt that is computed from a secret, so that it is the same at every attempt and after a
restart, and the iterations that most users have. No proof matches its keys.
"""

import hmac
from collections import Counter
from collections.abc import Iterable, Mapping

from duolog.security.credentials.scram import SALT_BYTES, ScramCredential, ScramMechanism

DEFAULT_ITERATIONS = 8192

Users = Mapping[str, Mapping[ScramMechanism, ScramCredential]]


def decoy(secret: bytes, mechanism: ScramMechanism, user: str, iterations: int) -> ScramCredential:
    """Return a credential for a user that does not exist."""

    def derived(purpose: str) -> bytes:
        return hmac.digest(secret, f"{purpose}:{mechanism.mechanism}:{user}".encode(), "sha512")

    size = mechanism.digest_bytes
    return ScramCredential(
        derived("salt")[:SALT_BYTES],
        derived("stored")[:size],
        derived("server")[:size],
        iterations,
    )


def usual_iterations(users: Users, mechanism: ScramMechanism) -> int:
    """Return the iterations of most users, or the default if there are none."""
    return most_common(
        credentials[mechanism].iterations
        for credentials in users.values()
        if mechanism in credentials
    )


def most_common(iterations: Iterable[int]) -> int:
    """Return the most frequent number; of several, the smallest."""
    counted = Counter(iterations)
    return min(counted, key=lambda each: (-counted[each], each), default=DEFAULT_ITERATIONS)
