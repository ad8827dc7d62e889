"""Decisions about requests that change users and rights."""

from dataclasses import replace
from typing import Any

import pytest

from duolog.protocol.error_codes import ErrorCode
from duolog.security.authorization.acls import Acl, PatternType, Permission
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.changes.acls import AclFilter, WantedAcl, acl_of, filter_problem, matching
from duolog.security.changes.client_records import check_client_record
from duolog.security.changes.problem import Problem
from duolog.security.changes.scram import Deletion, Upsertion, alter_credentials
from duolog.security.credentials.scram import ScramMechanism, password_matches, salted_password
from duolog.security.credentials.tokens import Token
from duolog.security.identity.principal import Principal
from duolog.security.records.records import (
    AclChange,
    BootstrapChange,
    Change,
    InvalidSecurityRecord,
    RoleMemberChange,
    ScramChange,
    TokenChange,
    encode,
)
from duolog.security.state.security_state import SecurityState

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
ALICE = Principal("User", "alice")


def upsertion(user: str = "alice", **changed: object) -> Upsertion:
    salted = salted_password(SHA_256, "pencil", b"salt", 4096)
    return Upsertion(user, 1, 4096, b"salt", salted)._replace(**changed)  # type: ignore[arg-type]


def code_of(state: SecurityState, *rows: Deletion | Upsertion) -> int | None:
    result = alter_credentials(
        state,
        [row for row in rows if isinstance(row, Deletion)],
        [row for row in rows if isinstance(row, Upsertion)],
    )
    problem = result.results[rows[0].user]
    assert (problem is None) == bool(result.changes)
    return problem and problem.code


def test_a_new_credential_verifies_the_password_and_not_another() -> None:
    altered = alter_credentials(SecurityState(), [], [upsertion()])

    assert altered.results == {"alice": None}
    [change] = altered.changes
    assert change.credential is not None
    assert password_matches(SHA_256, change.credential, "pencil")
    assert not password_matches(SHA_256, change.credential, "pencil2")


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (upsertion(""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion("a\nb"), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion("a" * 256), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(iterations=16385), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(salt=b""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(salt=bytes(257)), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(salted_password=b"short"), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(mechanism=2), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(mechanism=0), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (upsertion(mechanism=3), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (Deletion("alice", 1), ErrorCode.RESOURCE_NOT_FOUND),
    ],
)
def test_an_alteration_that_cannot_be_made_is_refused(row: Deletion | Upsertion, code: int) -> None:
    assert code_of(SecurityState(), row) == code


@pytest.mark.parametrize("iterations", [4096, 16384])
def test_kafkas_limits_of_iterations_are_included(iterations: int) -> None:
    assert code_of(SecurityState(), upsertion(iterations=iterations)) is None


SALTED_512 = salted_password(SHA_512, "pencil", b"salt", 4096)
OTHER = upsertion(mechanism=2, salted_password=SALTED_512)


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ((upsertion(), upsertion()), ErrorCode.DUPLICATE_RESOURCE),
        ((upsertion(), OTHER), ErrorCode.DUPLICATE_RESOURCE),
        ((Deletion("alice", 1), upsertion()), ErrorCode.DUPLICATE_RESOURCE),
        ((Deletion("alice", 1), OTHER), ErrorCode.DUPLICATE_RESOURCE),
        ((Deletion("alice", 1), Deletion("alice", 1)), ErrorCode.DUPLICATE_RESOURCE),
        ((upsertion(), upsertion(mechanism=9)), ErrorCode.DUPLICATE_RESOURCE),
        ((upsertion(mechanism=9), upsertion()), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ((Deletion("alice", 2), OTHER), ErrorCode.RESOURCE_NOT_FOUND),
        ((OTHER, upsertion("bob")), None),
    ],
)
def test_a_user_cannot_be_altered_twice_in_a_request(
    rows: tuple[Deletion | Upsertion, ...], code: int | None
) -> None:
    state = SecurityState()
    state.apply(alter_credentials(state, [], [upsertion()]).changes[0])

    assert code_of(state, *rows) == code


def test_other_users_are_altered_in_spite_of_one_that_is_refused() -> None:
    rows = [upsertion(), OTHER, upsertion("bob")]

    altered = alter_credentials(SecurityState(), [], rows)

    assert altered.results["alice"] is not None
    assert [change.user for change in altered.changes] == ["bob"]


def test_deleting_an_existing_credential_removes_it() -> None:
    state = SecurityState()
    state.apply(alter_credentials(state, [], [upsertion()]).changes[0])

    altered = alter_credentials(state, [Deletion("alice", 1)], [])

    assert altered.changes == [ScramChange("alice", SHA_256, None)]


WANTED = WantedAcl(2, 3, "orders", "User:alice", "*", 3, 3)
ORDERS = Acl(
    ResourceType.TOPIC,
    PatternType.LITERAL,
    "orders",
    ALICE,
    "*",
    Operation.READ,
    Permission.ALLOW,
)


def test_a_valid_rule_is_created() -> None:
    assert acl_of(WANTED) == ORDERS


@pytest.mark.parametrize(
    "changed",
    [
        {"resource_type": 0},
        {"resource_type": 1},
        {"resource_type": 8},
        {"resource_type": 100},
        {"pattern_type": 0},
        {"pattern_type": 1},
        {"pattern_type": 2},
        {"operation": 0},
        {"operation": 1},
        {"operation": 16},
        {"permission": 0},
        {"permission": 1},
        {"resource_name": ""},
        {"resource_name": "x" * 1025},
        {"principal": "alice"},
        {"principal": "User:"},
        {"principal": ":alice"},
        {"host": ""},
        {"resource_type": 4, "resource_name": "other-cluster"},
    ],
)
def test_an_invalid_rule_is_refused(changed: dict[str, int | str]) -> None:
    problem = acl_of(WANTED._replace(**changed))  # type: ignore[arg-type]

    assert isinstance(problem, Problem)
    assert problem.code == ErrorCode.INVALID_REQUEST


EVERYTHING = AclFilter(1, 1, None, None, None, 1, 1)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, {"orders", "ord", "*"}),
        ({"pattern_type": 3}, {"orders", "*"}),
        ({"pattern_type": 4}, {"ord"}),
        ({"resource_name": "orders"}, {"orders"}),
        ({"resource_name": "orders", "pattern_type": 2}, {"orders", "ord", "*"}),
        ({"resource_name": "ordinary", "pattern_type": 2}, {"ord", "*"}),
        ({"resource_name": "ord", "pattern_type": 3}, set()),
        ({"resource_type": 3}, set()),
        ({"principal": "User:bob"}, {"*"}),
        ({"host": "10.0.0.1"}, {"ord"}),
        ({"operation": 4}, {"ord"}),
        ({"permission": 2}, {"*"}),
    ],
)
def test_a_filter_finds_the_rules_that_kafka_finds(
    changed: dict[str, int | str], expected: set[str]
) -> None:
    state = SecurityState()
    prefixed = ORDERS._replace(
        pattern_type=PatternType.PREFIXED,
        resource_name="ord",
        host="10.0.0.1",
        operation=Operation.WRITE,
    )
    wildcard = ORDERS._replace(
        resource_name="*", principal=Principal("User", "bob"), permission=Permission.DENY
    )
    subject = ORDERS._replace(resource_type=ResourceType.SUBJECT, resource_name="hidden")
    for acl in (ORDERS, prefixed, wildcard, subject):
        state.apply(AclChange(acl, present=True))

    wanted = EVERYTHING._replace(**changed)  # type: ignore[arg-type]

    assert {acl.resource_name for acl in matching(state, wanted)} == expected


@pytest.mark.parametrize("field", ["resource_type", "pattern_type", "operation", "permission"])
@pytest.mark.parametrize("code", [0, 16])
def test_a_filter_with_an_unknown_code_is_refused(field: str, code: int) -> None:
    assert filter_problem(EVERYTHING) is None
    changed: dict[str, Any] = {field: code}
    assert filter_problem(EVERYTHING._replace(**changed)) is not None


def test_clients_append_tokens_members_and_rules_about_subjects_only() -> None:
    token = Token("ab" * 32, ALICE, 0, None)
    subject = ORDERS._replace(resource_type=ResourceType.SUBJECT)
    allowed: list[Change] = [
        TokenChange(token.token_id, token),
        RoleMemberChange(Principal("Role", "writers"), ALICE, present=False),
        AclChange(subject, present=True),
    ]
    refused: list[Change] = [
        ScramChange("alice", SHA_256, None),
        AclChange(ORDERS, present=True),
        BootstrapChange(None),
    ]

    assert [check_client_record(*encode(change)) for change in allowed] == allowed
    for change in refused:
        with pytest.raises(InvalidSecurityRecord):
            check_client_record(*encode(change))
    with pytest.raises(InvalidSecurityRecord):
        check_client_record(b'{"kind":"unknown"}', b"{}")


def test_a_key_in_another_spelling_is_refused() -> None:
    """Compaction and a later removal would not see that it is the same key."""
    key, value = encode(RoleMemberChange(Principal("Role", "writers"), ALICE, present=True))

    with pytest.raises(InvalidSecurityRecord):
        check_client_record(key.replace(b":", b": "), value)


@pytest.mark.parametrize("principal", [Principal("Server", "registry"), Principal("Role", "r")])
def test_a_token_logs_in_users_only(principal: Principal) -> None:
    """A token of another kind of principal would be the broker's own server."""
    token = Token("0f" * 32, principal, 1, None)

    with pytest.raises(InvalidSecurityRecord):
        check_client_record(*encode(TokenChange(token.token_id, token)))


@pytest.mark.parametrize(
    "value",
    [
        b" {}",
        b'{"more":1}',
        b'{"deep":' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"deep":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"a":1e999}',
    ],
)
def test_a_value_in_another_spelling_or_with_unknown_fields_is_refused(value: bytes) -> None:
    """A value that one reader just manages to parse may stop another one, or the next start."""
    key, _ = encode(RoleMemberChange(Principal("Role", "writers"), ALICE, present=True))

    with pytest.raises(InvalidSecurityRecord):
        check_client_record(key, value)


@pytest.mark.parametrize(
    "changed",
    [
        {"principal": Principal("Role", "administrators")},
        {"principal": Principal("User", "*")},
        {"principal": Principal("User", "a\nb")},
        {"principal": Principal("User", "a" * 1025)},
        {"expires_at_ms": 10**400},
        {"expires_at_ms": -1},
        {"created_at_ms": 2**63},
        {"description": "x" * 1025},
    ],
)
def test_a_token_is_one_of_a_user_with_times_that_a_clock_can_have(changed: Any) -> None:
    token = Token("ab" * 32, ALICE, 0, 1, "laptop")
    assert check_client_record(*encode(TokenChange(token.token_id, token)))

    with pytest.raises(InvalidSecurityRecord):
        check_client_record(*encode(TokenChange(token.token_id, token._replace(**changed))))


@pytest.mark.parametrize(
    ("role", "member"),
    [
        ("writers", Principal("Role", "readers")),
        ("writers", Principal("User", "*")),
        ("administrators", Principal("User", "ANONYMOUS")),
        ("wri\u2028ters", ALICE),
    ],
)
def test_only_users_become_members_of_roles(role: str, member: Principal) -> None:
    change = RoleMemberChange(Principal("Role", role), member, present=True)

    with pytest.raises(InvalidSecurityRecord):
        check_client_record(*encode(change))
    assert check_client_record(*encode(replace(change, present=False))), "and can be removed"


def test_a_user_that_loses_the_last_credential_loses_its_tokens() -> None:
    state = SecurityState()
    tokens = [Token(f"{number:064}", Principal("User", name), 0, None)
              for number, name in enumerate(("alice", "alice", "bob"))]  # fmt: skip
    tokens = [each._replace(digest=each.digest[::-1]) for each in tokens]
    for token in tokens:
        state.apply(TokenChange(token.token_id, token))
    credential = alter_credentials(state, [], [upsertion()]).changes[0].credential
    for mechanism in ScramMechanism:
        state.apply(ScramChange("alice", mechanism, credential))

    kept = alter_credentials(state, [Deletion("alice", SHA_256)], [])
    state.apply(kept.changes[0])
    removed = alter_credentials(state, [Deletion("alice", SHA_512)], [])

    assert kept.revoked == []
    assert removed.revoked == [TokenChange(each.token_id, None) for each in tokens[:2]]
