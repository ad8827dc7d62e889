"""Credentials of users that do not exist: what makes them look like others.

A SCRAM server shows salt and iterations before the client has proved anything. For an unknown user
it shows a salt that is computed from a secret, so that it is the same at every attempt and after a
restart. The size of the salt and the iterations are those that most users have: tools make salts
of different sizes (librdkafka 64 bytes, Java a number of 130 bits as text). No proof matches the
keys of a decoy.
"""

import hmac
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from duolog.security.credentials.scram import SALT_BYTES, ScramCredential, ScramMechanism

DEFAULT_ITERATIONS: Final = 8192
_BASE_36: Final = b"0123456789abcdefghijklmnopqrstuvwxyz"
_JAVA_BITS: Final = 130
_JAVA_BYTES: Final = range(20, 27)

Users = Mapping[str, Mapping[ScramMechanism, ScramCredential]]


class Form(NamedTuple):
    """The part of a credential that a client sees before it has proved anything."""

    iterations: int = DEFAULT_ITERATIONS
    salt_bytes: int = SALT_BYTES
    """0 for a salt of Java's tools."""


def form_of(stored: ScramCredential) -> Form:
    """Return the form of a credential."""
    salt = stored.salt
    of_java = len(salt) in _JAVA_BYTES and not salt.strip(_BASE_36)
    return Form(stored.iterations, 0 if of_java else len(salt))


def decoy(secret: bytes, mechanism: ScramMechanism, user: str, form: Form) -> ScramCredential:
    """Return a credential for a user that does not exist."""

    def derived(purpose: str) -> bytes:
        return hmac.digest(secret, f"{purpose}:{mechanism.mechanism}:{user}".encode(), "sha512")

    size = mechanism.digest_bytes
    salt = derived("salt")
    if not form.salt_bytes:
        salt = _in_base_36(int.from_bytes(salt) >> (8 * len(salt) - _JAVA_BITS))
    while len(salt) < form.salt_bytes:
        salt += derived(f"salt {len(salt)}")
    return ScramCredential(
        salt[: form.salt_bytes or len(salt)],
        derived("stored")[:size],
        derived("server")[:size],
        form.iterations,
    )


def usual_form(users: Users, mechanism: ScramMechanism) -> Form:
    """Return the form of most credentials, or the default if there are none."""
    return most_common(
        form_of(credentials[mechanism])
        for credentials in users.values()
        if mechanism in credentials
    )


def most_common(forms: Iterable[Form]) -> Form:
    """Return the most frequent form; of several, the smallest."""
    counted = Counter(forms)
    return min(counted, key=lambda each: (-counted[each], each), default=Form())


def _in_base_36(number: int) -> bytes:
    digits = bytearray()
    while number:
        number, digit = divmod(number, 36)
        digits.append(_BASE_36[digit])
    return bytes(reversed(digits))
