"""Credentials of SCRAM: which passwords belong to them, and what they show."""

import pytest

from duolog.security.credentials.scram import (
    ScramMechanism,
    credential,
    password_matches,
    salted_password,
)

RIGHT = "pencil"
SALT = b"salt"


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_a_password_belongs_to_its_credential_only_if_every_byte_of_the_key_is_equal(
    mechanism: ScramMechanism,
) -> None:
    salted = salted_password(mechanism, RIGHT, SALT, 4096)
    stored = credential(mechanism, salted, SALT, 4096)
    assert password_matches(mechanism, stored, RIGHT)

    for place in range(mechanism.digest_bytes):
        key = bytearray(stored.server_key)
        key[place] ^= 1
        assert not password_matches(mechanism, stored._replace(server_key=bytes(key)), RIGHT)


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_salt_iterations_and_mechanism_count(mechanism: ScramMechanism) -> None:
    salted = salted_password(mechanism, RIGHT, SALT, 4096)
    stored = credential(mechanism, salted, SALT, 4096)
    (other,) = set(ScramMechanism) - {mechanism}

    assert not password_matches(mechanism, stored._replace(salt=b"Salt"), RIGHT)
    assert not password_matches(mechanism, stored._replace(iterations=4097), RIGHT)
    assert not password_matches(other, stored, RIGHT)
    assert len(stored.server_key) == len(stored.stored_key) == mechanism.digest_bytes
