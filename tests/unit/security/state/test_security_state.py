"""The state that the records of `__security` add up to."""

import pytest

from duolog.security.authorization.acls import Acl, PatternType, Permission
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.credentials.scram import ScramCredential, ScramMechanism
from duolog.security.credentials.tokens import Token, digest_of, id_of, new_token
from duolog.security.identity.principal import Principal
from duolog.security.records.records import (
    AclChange,
    BootstrapChange,
    Change,
    DecoyChange,
    InvalidSecurityRecord,
    RoleMemberChange,
    ScramChange,
    TokenChange,
    decode,
    encode,
)
from duolog.security.state.security_state import SecurityState

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
ALICE, WRITERS = Principal("User", "alice"), Principal("Role", "writers")
CREDENTIAL = ScramCredential(b"salt", b"stored", b"server", 4096)
TEXT = new_token(bytes(range(32)))
TOKEN = Token(digest_of(TEXT), ALICE, 1_000, 2_000, "laptop")
ACL = Acl(
    ResourceType.TOPIC,
    PatternType.PREFIXED,
    "ünï,=",
    Principal("User", "CN=alice,O=Ex:ample"),
    "::1",
    Operation.IDEMPOTENT_WRITE,
    Permission.DENY,
)
CHANGES: list[Change] = [
    ScramChange("alice", SHA_256, CREDENTIAL),
    ScramChange("alice", SHA_512, None),
    AclChange(ACL, present=True),
    AclChange(ACL, present=False),
    RoleMemberChange(WRITERS, ALICE, present=True),
    RoleMemberChange(WRITERS, ALICE, present=False),
    TokenChange(TOKEN.token_id, TOKEN),
    TokenChange(TOKEN.token_id, TOKEN._replace(expires_at_ms=None, description="")),
    TokenChange(TOKEN.token_id, None),
    BootstrapChange("admin"),
    BootstrapChange(None),
    DecoyChange(b"secret"),
    DecoyChange(None),
]


def replayed(*changes: Change) -> SecurityState:
    state = SecurityState()
    for change in changes:
        state.apply(change)
    return state


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_survives_its_record(change: Change) -> None:
    assert decode(*encode(change)) == change


def test_the_bytes_of_a_key_do_not_change_between_versions() -> None:
    record = encode(ScramChange("alice", SHA_256, CREDENTIAL))

    assert record.key == b'{"kind":"user-scram","mechanism":"SCRAM-SHA-256","user":"alice"}'
    assert record.value == (
        b'{"iterations":4096,"salt":"c2FsdA==","serverKey":"c2VydmVy","storedKey":"c3RvcmVk"}'
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"", None),
        (b"[]", None),
        (b"{}", None),
        (b"\xff", None),
        (b'{"kind":"user-scram","user":"alice","mechanism":"MD5"}', None),
        (b'{"kind":"user-scram","user":"","mechanism":"SCRAM-SHA-256"}', None),
        (b'{"kind":"user-scram","user":"a","mechanism":"SCRAM-SHA-256"}', b"{}"),
        (b'{"kind":"role-member","role":"r","member":"alice"}', b"{}"),
        (b'{"kind":"token","id":"00"}', b'{"sha256":"zz"}'),
        (encode(TokenChange("0" * 16, TOKEN)).key, encode(TokenChange("0" * 16, TOKEN)).value),
        (encode(CHANGES[2]).key.replace(b'"DENY"', b'"ANY"'), b"{}"),
        (encode(CHANGES[2]).key.replace(b'"PREFIXED"', b'"MATCH"'), b"{}"),
        (encode(CHANGES[2]).key.replace(b'"TOPIC"', b'"ANY"'), b"{}"),
    ],
)
def test_a_malformed_record_is_refused(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(InvalidSecurityRecord):
        decode(key, value)


def test_a_record_of_an_unknown_kind_is_ignored() -> None:
    assert decode(b'{"kind":"passkey","user":"alice"}', b"{}") is None


def test_an_error_about_a_record_shows_nothing_of_it() -> None:
    with pytest.raises(InvalidSecurityRecord) as caught:
        decode(
            b'{"kind":"user-scram","user":"a","mechanism":"SCRAM-SHA-256"}',
            b'{"salt":"HUSH!","storedKey":"HUSH","serverKey":"HUSH","iterations":"HUSH"}',
        )

    assert "HUSH" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_removing_one_of_two_credentials_keeps_the_other() -> None:
    both = (ScramChange("alice", SHA_256, CREDENTIAL), ScramChange("alice", SHA_512, CREDENTIAL))

    state = replayed(*both, ScramChange("alice", SHA_256, None))

    assert state.users == {"alice": {SHA_512: CREDENTIAL}}
    state.apply(ScramChange("alice", SHA_512, None))
    assert state.users == {}


def test_roles_follow_their_members() -> None:
    readers = Principal("Role", "readers")
    state = replayed(
        RoleMemberChange(WRITERS, ALICE, present=True),
        RoleMemberChange(readers, ALICE, present=True),
        RoleMemberChange(readers, Principal("User", "bob"), present=True),
    )
    assert state.acls.roles()[ALICE] == {WRITERS, readers}

    state.apply(RoleMemberChange(WRITERS, ALICE, present=False))

    assert state.acls.roles()[ALICE] == {readers}
    assert state.members == {readers: {ALICE, Principal("User", "bob")}}
    state.apply(RoleMemberChange(readers, ALICE, present=False))
    assert state.members == {readers: {Principal("User", "bob")}}
    assert ALICE not in state.acls.roles()


def test_a_token_is_found_by_its_text_until_it_expires_or_is_revoked() -> None:
    state = replayed(TokenChange(TOKEN.token_id, TOKEN))

    assert state.token(TEXT, 1_999) == TOKEN
    assert state.token(TEXT, 2_000) is None
    assert state.token(TOKEN.digest, 1_999) is None
    assert state.token(TEXT + "x", 1_999) is None

    state.apply(TokenChange(TOKEN.token_id, None))
    assert state.token(TEXT, 1_999) is None


def test_a_token_with_the_same_id_and_another_digest_is_not_the_token() -> None:
    forged = TOKEN._replace(digest=TOKEN.digest[:16] + "0" * 48)
    state = replayed(TokenChange(forged.token_id, forged))

    assert id_of(forged.digest) == TOKEN.token_id
    assert state.token(TEXT, 1_000) is None


def test_applying_every_change_twice_gives_the_same_state() -> None:
    once, twice = replayed(*CHANGES), replayed(*(c for c in CHANGES for _ in range(2)))

    assert once.users == twice.users
    assert set(once.acls) == set(twice.acls)
    assert (once.members, once.tokens) == (twice.members, twice.tokens)


def test_neither_a_token_nor_its_digest_is_in_its_representation() -> None:
    assert TOKEN.digest not in repr(TOKEN)
    assert TEXT not in repr(TOKEN)


def test_each_user_has_an_epoch_of_its_own() -> None:
    """Sessions end with their user's credentials, and not with those of others."""
    state = SecurityState()
    state.apply(ScramChange("alice", SHA_256, CREDENTIAL))
    before = state.epoch_of("alice")

    state.apply(ScramChange("bob", SHA_256, CREDENTIAL))
    assert (state.epoch_of("alice"), state.epoch_of("eve")) == (before, 0)
    state.apply(ScramChange("alice", SHA_256, None))
    removed = state.epoch_of("alice")
    state.apply(ScramChange("alice", SHA_256, CREDENTIAL))

    assert before < removed < state.epoch_of("alice")
