"""Decisions by access control lists, case by case."""

from typing import TYPE_CHECKING

import pytest

from duolog.security.authorization.acl_authorizer import AclAuthorizer
from duolog.security.authorization.acl_index import AclIndex
from duolog.security.authorization.acls import Acl, PatternType, Permission
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.security.identity.principal import Identity, Principal

if TYPE_CHECKING:
    from duolog.security.authorization.authorizer import Authorizer

ALICE = Principal("User", "alice")
EVERYBODY = Principal("User", "*")
CLIENT = Identity(ALICE, "10.0.0.1")


def rule(
    name: str = "orders",
    operation: Operation = Operation.READ,
    permission: Permission = Permission.ALLOW,
    *,
    pattern: PatternType = PatternType.LITERAL,
    principal: Principal = ALICE,
    host: str = "*",
    kind: ResourceType = ResourceType.TOPIC,
) -> Acl:
    return Acl(kind, pattern, name, principal, host, operation, permission)


def deny(name: str = "orders", operation: Operation = Operation.READ, **more: object) -> Acl:
    return rule(name, operation, Permission.DENY, **more)  # type: ignore[arg-type]


def allows(*acls: Acl, operation: Operation = Operation.READ, name: str = "orders") -> bool:
    authorizer: Authorizer = AclAuthorizer(AclIndex(acls))
    return authorizer.allows(CLIENT, operation, ResourceType.TOPIC, name)


@pytest.mark.parametrize("operation", Operation)
def test_rules_allow_only_to_read_an_append_only_topic(operation: Operation) -> None:
    every_rule = rule("*", Operation.ALL)
    topic = ResourceType.TOPIC
    roots = AclAuthorizer(AclIndex(()), super_users=[ALICE], append_only=["audit"])
    users = AclAuthorizer(AclIndex([every_rule]), append_only=["audit"])
    strangers = AclAuthorizer(AclIndex(()), everyone_if_no_acl=True, append_only=["audit"])

    reads = operation in {Operation.READ, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS}
    assert users.allows(CLIENT, operation, topic, "audit") == reads
    assert strangers.allows(CLIENT, operation, topic, "audit") == reads
    assert users.allows(CLIENT, operation, topic, "audits")
    assert users.allows(CLIENT, operation, ResourceType.GROUP, "audit") is False
    assert roots.allows(CLIENT, operation, topic, "audit")


def test_without_a_rule_nothing_is_allowed() -> None:
    assert not allows()


@pytest.mark.parametrize(
    "acl",
    [
        rule(),
        rule("*"),
        rule("ord", pattern=PatternType.PREFIXED),
        rule("orders", pattern=PatternType.PREFIXED),
        rule(principal=EVERYBODY),
        rule(host="10.0.0.1"),
        rule(operation=Operation.ALL),
    ],
)
def test_a_rule_that_covers_name_principal_host_and_operation_allows(acl: Acl) -> None:
    assert allows(acl)


@pytest.mark.parametrize(
    "acl",
    [
        rule("order"),
        rule("orders-eu", pattern=PatternType.PREFIXED),
        rule("*", pattern=PatternType.PREFIXED),
        rule(principal=Principal("User", "bob")),
        rule(principal=Principal("Role", "alice")),
        rule(principal=Principal("User", "Alice")),
        rule(host="10.0.0.10"),
        rule(operation=Operation.WRITE),
        rule(kind=ResourceType.GROUP),
    ],
)
def test_a_rule_that_misses_in_one_field_allows_nothing(acl: Acl) -> None:
    assert not allows(acl)


@pytest.mark.parametrize(
    "denial",
    [
        deny(),
        deny("*"),
        deny("o", pattern=PatternType.PREFIXED),
        deny(principal=EVERYBODY),
        deny(operation=Operation.ALL),
    ],
)
@pytest.mark.parametrize("grant", [rule(), rule("*"), rule("o", pattern=PatternType.PREFIXED)])
def test_a_denial_wins_over_every_permission(denial: Acl, grant: Acl) -> None:
    assert not allows(grant, denial)
    assert not allows(denial, grant)


@pytest.mark.parametrize(
    "operation", [Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER]
)
def test_permission_to_act_includes_describe_and_a_denial_does_not(operation: Operation) -> None:
    assert allows(rule(operation=operation), operation=Operation.DESCRIBE)
    granted = rule(operation=Operation.DESCRIBE)
    assert allows(granted, deny(operation=operation), operation=Operation.DESCRIBE)


def test_alter_configs_includes_describe_configs_and_describe_does_not() -> None:
    granted = rule(operation=Operation.ALTER_CONFIGS)
    assert allows(granted, operation=Operation.DESCRIBE_CONFIGS)
    assert not allows(granted, operation=Operation.DESCRIBE)
    assert not allows(rule(operation=Operation.DESCRIBE), operation=Operation.DESCRIBE_CONFIGS)


def test_a_super_user_may_do_what_a_denial_forbids() -> None:
    index = AclIndex([deny(principal=EVERYBODY, operation=Operation.ALL)])
    authorizer = AclAuthorizer(index, super_users=[ALICE])

    assert authorizer.allows(CLIENT, Operation.READ, ResourceType.TOPIC, "orders")
    assert authorizer.allows_any(CLIENT, Operation.READ, ResourceType.TOPIC)
    other = Identity(Principal("User", "bob"), "10.0.0.1")
    assert not authorizer.allows(other, Operation.READ, ResourceType.TOPIC, "orders")


def test_a_wildcard_among_super_users_makes_nobody_a_super_user() -> None:
    authorizer = AclAuthorizer(AclIndex(), super_users=[EVERYBODY])

    assert not authorizer.allows(CLIENT, Operation.READ, ResourceType.TOPIC, "orders")


def test_a_member_of_a_role_has_its_rights_until_it_leaves() -> None:
    role = Principal("Role", "writers")
    index = AclIndex([rule(operation=Operation.WRITE, principal=role)])
    authorizer = AclAuthorizer(index)
    question = (CLIENT, Operation.WRITE, ResourceType.TOPIC, "orders")
    assert not authorizer.allows(*question)

    index.set_roles(ALICE, frozenset([role]))
    assert authorizer.allows(*question)

    index.set_roles(ALICE, frozenset())
    assert not authorizer.allows(*question)


def test_open_without_rules_ends_with_the_first_rule_of_anyone() -> None:
    index = AclIndex()
    authorizer = AclAuthorizer(index, everyone_if_no_acl=True)
    question = (CLIENT, Operation.READ, ResourceType.TOPIC, "orders")
    assert authorizer.allows(*question)

    index.add(rule(principal=Principal("User", "bob")))

    assert not authorizer.allows(*question)
    assert authorizer.allows(CLIENT, Operation.READ, ResourceType.TOPIC, "payments")


def test_removing_one_of_two_rules_of_a_resource_keeps_the_other() -> None:
    """CVE-2024-27309."""
    denial = deny(principal=EVERYBODY)
    index = AclIndex([denial, rule("*", principal=EVERYBODY), deny(principal=ALICE)])
    authorizer = AclAuthorizer(index)

    index.remove(deny(principal=ALICE))

    assert not authorizer.allows(CLIENT, Operation.READ, ResourceType.TOPIC, "orders")
    assert denial in index


def test_allowed_operations_of_a_cluster_are_kafkas_bits() -> None:
    index = AclIndex(
        [
            rule(CLUSTER_NAME, Operation.ALTER, kind=ResourceType.CLUSTER),
            rule(CLUSTER_NAME, Operation.IDEMPOTENT_WRITE, kind=ResourceType.CLUSTER),
        ]
    )

    bits = AclAuthorizer(index).operations(CLIENT, ResourceType.CLUSTER, CLUSTER_NAME)

    assert bits == 1 << 7 | 1 << 8 | 1 << 12


def test_remembered_decisions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "duolog.security.authorization.acl_authorizer"
    monkeypatch.setattr(f"{module}.REMEMBERED_MAX", 10)
    authorizer = AclAuthorizer(AclIndex([rule("*")]))

    for number in range(100):
        assert authorizer.allows(CLIENT, Operation.READ, ResourceType.TOPIC, f"t{number}")

    assert len(authorizer._remembered) <= 10  # noqa: SLF001


def test_decisions_about_names_that_nothing_can_have_are_not_remembered() -> None:
    """A client without rights sends names of a megabyte, 20,000 times."""
    authorizer = AclAuthorizer(AclIndex([rule("a", pattern=PatternType.PREFIXED)]))

    assert authorizer.allows(CLIENT, Operation.READ, ResourceType.TOPIC, "a" * 1_000_000)

    assert not authorizer._remembered  # noqa: SLF001


@pytest.mark.parametrize(
    ("of_rule", "of_client"),
    [
        ("10.0.0.7", "::ffff:10.0.0.7"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"),
        ("0:0:0:0:0:0:0:1", "::1"),
    ],
)
def test_a_denial_of_an_address_holds_for_every_way_to_write_it(
    of_rule: str, of_client: str
) -> None:
    authorizer = AclAuthorizer(AclIndex([rule(), deny(host=of_rule)]))
    topic = Operation.READ, ResourceType.TOPIC, "orders"

    assert not authorizer.allows(Identity(ALICE, of_client), *topic)
    assert authorizer.allows(CLIENT, *topic)


@pytest.mark.parametrize(
    ("on_cluster", "operation", "allowed"),
    [
        (Operation.CLUSTER_ACTION, Operation.READ, True),
        (Operation.CLUSTER_ACTION, Operation.DESCRIBE, True),
        (Operation.CLUSTER_ACTION, Operation.WRITE, False),
        (Operation.ALTER, Operation.WRITE, True),
        (Operation.ALTER, Operation.DESCRIBE, True),
        (Operation.ALTER, Operation.READ, False),
        (Operation.ALL, Operation.DELETE, False),
        (Operation.ALL, Operation.ALTER_CONFIGS, False),
        (Operation.DESCRIBE, Operation.DESCRIBE, False),
    ],
)
def test_rules_about_topics_do_not_open_the_topic_of_credentials(
    on_cluster: Operation, operation: Operation, *, allowed: bool
) -> None:
    rules = [
        rule("*", Operation.ALL),
        rule("__security", Operation.ALL),
        rule(CLUSTER_NAME, on_cluster, kind=ResourceType.CLUSTER),
    ]
    authorizer = AclAuthorizer(AclIndex(rules), everyone_if_no_acl=True)

    assert authorizer.allows(CLIENT, operation, ResourceType.TOPIC, "__security") == allowed


PREFIXED = PatternType.PREFIXED


@pytest.mark.parametrize(
    ("acls", "allowed"),
    [
        ([], False),
        ([rule()], True),
        ([rule("*")], True),
        ([rule(), deny("*")], False),
        ([rule("*"), deny("*")], False),
        ([rule("o", pattern=PREFIXED), deny("*")], False),
        ([rule(), deny()], False),
        ([rule(), deny("o", pattern=PREFIXED)], False),
        ([rule(), deny("x", pattern=PREFIXED)], True),
        ([rule("ord", pattern=PREFIXED), deny("o", pattern=PREFIXED)], False),
        ([rule("o", pattern=PREFIXED), deny("ord", pattern=PREFIXED)], True),
        ([rule("o", pattern=PREFIXED), deny("o")], True),
        ([rule("*"), deny("o", pattern=PREFIXED)], True),
        ([rule(operation=Operation.WRITE)], False),
        ([rule(host="10.0.0.2")], False),
    ],
)
def test_any_resource_is_allowed_if_a_permission_is_not_wholly_denied(
    acls: list[Acl], *, allowed: bool
) -> None:
    authorizer = AclAuthorizer(AclIndex(acls))

    assert authorizer.allows_any(CLIENT, Operation.READ, ResourceType.TOPIC) == allowed


def test_removing_one_of_two_prefixes_of_a_length_keeps_the_other() -> None:
    denial, other = deny("ord", pattern=PREFIXED), deny("pay", pattern=PREFIXED)
    index = AclIndex([denial, other, rule("*")])
    authorizer = AclAuthorizer(index)

    index.remove(other)

    assert not authorizer.allows(CLIENT, Operation.READ, ResourceType.TOPIC, "orders")
    assert authorizer.allows(CLIENT, Operation.READ, ResourceType.TOPIC, "payments")
