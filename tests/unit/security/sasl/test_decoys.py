"""Decoys: an unknown user looks like most others, in each mechanism and at every attempt."""

from duolog.security.credentials.scram import ScramCredential, ScramMechanism
from duolog.security.sasl.decoys import Form, decoy, most_common, usual_form

SECRET = b"s" * 32
FORM = Form(4096)
SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512


def test_a_decoy_is_the_same_at_every_attempt_and_another_for_each_user_and_secret() -> None:
    first = decoy(SECRET, SHA_256, "eve", FORM)

    assert decoy(SECRET, SHA_256, "eve", FORM) == first
    assert decoy(SECRET, SHA_256, "eva", FORM).salt != first.salt
    assert decoy(b"t" * 32, SHA_256, "eve", FORM).salt != first.salt


def test_the_mechanisms_of_an_unknown_user_have_different_salts_as_those_of_a_known_one() -> None:
    """With one salt for both, a stranger could distinguish decoys from users."""
    one, other = (decoy(SECRET, mechanism, "eve", FORM) for mechanism in (SHA_256, SHA_512))

    assert one.salt != other.salt
    assert len(one.salt) == len(other.salt)


def test_a_decoy_shows_nothing_of_its_keys_in_its_salt() -> None:
    made = decoy(SECRET, SHA_256, "eve", FORM)

    assert len({made.salt[:16], made.stored_key[:16], made.server_key[:16]}) == 3


def test_the_form_is_that_of_most_users_of_the_mechanism() -> None:
    def stored(iterations: int, salt: bytes = b"s" * 24) -> ScramCredential:
        return ScramCredential(salt, b"", b"", iterations)

    users = {
        "a": {SHA_256: stored(4096)},
        "b": {SHA_256: stored(4096), SHA_512: stored(16384, b"l" * 64)},
        "c": {SHA_256: stored(16384), SHA_512: stored(16384, b"l" * 64)},
    }

    assert usual_form(users, SHA_256).iterations == 4096
    assert usual_form(users, SHA_512) == Form(16384, 64)
    assert usual_form({}, SHA_512) == Form()
    assert most_common([Form(16384), Form(8192), Form(16384), Form(8192)]) == Form(8192)
