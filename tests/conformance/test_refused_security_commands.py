"""`duolog users`, `acls`, `tokens` and `quotas` of a user without rights, or about what is not there.

A refused command ended by a segmentation fault, or printed an empty list with exit status 0.
"""

from collections.abc import Iterator

import pytest

from conformance.administration import (
    ALICES,
    SECRET,
    administered,
    as_admin,
    as_user,
)
from duolog.runtime.broker_process import BrokerProcess

NOT_FOUND, DENIED, CONFLICT = 3, 4, 6


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with administered(tmp_path_factory.mktemp("broker")) as process:
        as_admin(process, "users", "add", "alice", "--password-file", "-", typed=ALICES)
        as_admin(process, "topics", "create", "orders")
        seen = ("--allow", "User:alice", "--operation", "DESCRIBE", "--topic", "orders")
        as_admin(process, "acls", "add", *seen)
        yield process


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a file with a new password."""
    path = tmp_path_factory.mktemp("secret") / "new.password"
    path.write_text("another-secret")
    return str(path)


@pytest.mark.parametrize(
    ("words", "operation"),
    [
        (("users", "list"), "describe"),
        (("users", "add", "eve", "--password-file", "FILE"), "describe"),
        (("acls", "list"), "describe"),
        (("acls", "add", "--allow", "User:alice", "--operation", "ALL", "--topic", "*"), "alter"),
        (("quotas", "list"), "describe_configs"),
        (("quotas", "set", "producer_byte_rate=1", "--user", "alice"), "alter_configs"),
    ],
)
def test_a_command_without_the_right_names_the_rule_that_grants_it(
    broker: BrokerProcess, secret: str, words: tuple[str, ...], operation: str
) -> None:
    words = tuple(secret if word == "FILE" else word for word in words)

    refused = as_user(broker, "alice", ALICES, *words)

    assert refused.returncode == DENIED, refused
    assert "CLUSTER_AUTHORIZATION_FAILED: User:alice has no right to" in refused.stderr
    rule = f"`duolog acls add --allow User:alice --operation {operation} --cluster`"
    assert rule in refused.stderr


def test_the_rule_of_the_hint_grants_the_right(broker: BrokerProcess) -> None:
    words = ("topics", "configs", "orders")
    refused = as_user(broker, "alice", ALICES, *words)
    rule = refused.stderr.partition("`duolog ")[2].partition("`")[0].split()
    assert (refused.returncode, rule[:2]) == (DENIED, ["acls", "add"])

    as_admin(broker, *rule)
    try:
        assert as_user(broker, "alice", ALICES, *words).returncode == 0
    finally:
        as_admin(broker, "acls", "remove", *rule[2:])


@pytest.mark.parametrize(
    "words",
    [
        ("users", "roles", "add", "alice", "administrators"),
        ("tokens", "create", "admin"),
        ("acls", "add", "--allow", "User:alice", "--operation", "READ", "--subject", "orders"),
    ],
)
def test_a_refused_change_of_the_security_topic_names_the_right_to_the_cluster(
    broker: BrokerProcess, words: tuple[str, ...]
) -> None:
    refused = as_user(broker, "alice", ALICES, *words)

    assert refused.returncode == DENIED, refused
    assert "needs ALTER on the cluster" in refused.stderr
    assert "duolog_" not in refused.stdout, "a token was printed that the broker does not have"


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("users", "remove", "zoe"), NOT_FOUND, 'user "zoe" does not exist'),
        (("users", "password", "zoe", "--password-file", "FILE"), NOT_FOUND, "does not exist"),
        (("users", "add", "alice", "--password-file", "FILE"), CONFLICT, 'user "alice" exists'),
        (("tokens", "revoke", "123"), NOT_FOUND, 'token "123" does not exist'),
        (
            ("acls", "remove", "--allow", "User:alice", "--operation", "DELETE", "--topic", "x"),
            NOT_FOUND,
            "no rule matches",
        ),
        (
            ("acls", "remove", "--allow", "User:alice", "--operation", "READ", "--subject", "x"),
            NOT_FOUND,
            "no rule matches",
        ),
    ],
)
def test_what_is_not_there_and_what_is_there_have_exit_statuses_of_their_own(
    broker: BrokerProcess, secret: str, words: tuple[str, ...], status: int, message: str
) -> None:
    words = tuple(secret if word == "FILE" else word for word in words)

    failed = as_user(broker, "admin", SECRET, *words)

    assert (failed.returncode, message in failed.stderr) == (status, True), failed
