"""Decisions after random changes of rules and roles equal those of a naive model.

The model keeps a list of rules and scans it. It is written from Kafka's documentation and not
from the code. CVE-2024-27309 was a removal after which a rule for the same resource was lost.
"""

from hypothesis import given
from hypothesis import strategies as st

from duolog.security.authorization.acl_authorizer import AclAuthorizer
from duolog.security.authorization.acl_index import AclIndex
from duolog.security.authorization.acls import SUPPORTED, Acl, PatternType, Permission
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.identity.principal import Identity, Principal

ALICE, BOB, ROOT = (Principal("User", name) for name in ("alice", "bob", "root"))
EVERYBODY, WRITERS = Principal("User", "*"), Principal("Role", "writers")
CLIENTS = [Identity(user, host) for user in (ALICE, BOB, ROOT) for host in ("10.0.0.1", "::1")]
NAMES = ["a", "ab", "abc", "b", "*", "é"]
TYPES = [ResourceType.TOPIC, ResourceType.GROUP, ResourceType.SUBJECT]
OPERATIONS = [
    Operation.READ,
    Operation.WRITE,
    Operation.DESCRIBE,
    Operation.ALTER_CONFIGS,
    Operation.DESCRIBE_CONFIGS,
]

ACLS = st.builds(
    Acl,
    st.sampled_from(TYPES[:2]),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    st.sampled_from(NAMES),
    st.sampled_from([ALICE, BOB, EVERYBODY, WRITERS]),
    st.sampled_from(["*", "10.0.0.1"]),
    st.sampled_from([*OPERATIONS, Operation.ALL]),
    st.sampled_from([Permission.ALLOW, Permission.DENY]),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), ACLS),
        st.tuples(st.just("remove"), st.integers(0, 30)),
        st.tuples(st.just("role"), st.sampled_from([ALICE, BOB])),
    ),
    max_size=25,
)


class NaiveModel:
    """A list of rules, scanned for each decision."""

    def __init__(self, *, open_without_rules: bool) -> None:
        self.acls: list[Acl] = []
        self.members: set[Principal] = set()
        self.open_without_rules = open_without_rules

    def allows(self, client: Identity, operation: Operation, kind: ResourceType, name: str) -> bool:
        if client.principal == ROOT:
            return True
        about = [acl for acl in self.acls if acl.resource_type == kind and self.matches(acl, name)]
        if not about:
            return self.open_without_rules
        mine = [acl for acl in about if self.applies(acl, client)]
        denied = [a for a in mine if a.permission == Permission.DENY]
        if any(a.operation in (operation, Operation.ALL) for a in denied):
            return False
        wanted = {operation, Operation.ALL}
        if operation == Operation.DESCRIBE:
            wanted |= {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
        if operation == Operation.DESCRIBE_CONFIGS:
            wanted |= {Operation.ALTER_CONFIGS}
        return any(a.permission == Permission.ALLOW and a.operation in wanted for a in mine)

    def matches(self, acl: Acl, name: str) -> bool:
        if acl.pattern_type == PatternType.LITERAL:
            return acl.resource_name in {name, "*"}
        return name[: len(acl.resource_name)] == acl.resource_name

    def applies(self, acl: Acl, client: Identity) -> bool:
        principal_fits = acl.principal in (client.principal, EVERYBODY) or (
            acl.principal == WRITERS and client.principal in self.members
        )
        return principal_fits and acl.host in ("*", client.host)


@given(steps=STEPS, open_without_rules=st.booleans())
def test_decisions_after_random_changes_equal_a_naive_model(
    *, steps: list[tuple[str, object]], open_without_rules: bool
) -> None:
    index, model = AclIndex(), NaiveModel(open_without_rules=open_without_rules)
    authorizer = AclAuthorizer(index, super_users=[ROOT], everyone_if_no_acl=open_without_rules)

    for step, value in steps:
        before = index.epoch
        match value:
            case Acl():
                index.add(value)
                if value not in model.acls:
                    model.acls.append(value)
            case Principal():
                model.members ^= {value}
                member = value in model.members
                index.set_roles(value, frozenset([WRITERS] if member else []))
                assert index.epoch > before
            case int() if model.acls:
                index.remove(model.acls.pop(value % len(model.acls)))
                assert index.epoch > before

        assert set(index) == set(model.acls), step
        ensure_equal(authorizer, model)


def ensure_equal(authorizer: AclAuthorizer, model: NaiveModel) -> None:
    for client in CLIENTS:
        for kind in TYPES:
            # Every prefix also with one more letter, and a name that no rule names.
            names = {*NAMES, *(name + "~" for name in NAMES), "unheard-of"}
            for operation in OPERATIONS:
                allowed = {name: model.allows(client, operation, kind, name) for name in names}
                found = {name: authorizer.allows(client, operation, kind, name) for name in names}
                assert found == allowed
                assert authorizer.allows_any(client, operation, kind) == any(allowed.values())
            bits = sum(
                1 << operation
                for operation in SUPPORTED[kind]
                if model.allows(client, operation, kind, "ab")
            )
            assert authorizer.operations(client, kind, "ab") == bits
