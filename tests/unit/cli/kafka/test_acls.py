"""Rules without any effect are refused before they are sent."""

import pytest
from click.testing import CliRunner

from duolog.cli.commands.acls import acls

RULE = ("--operation", "READ", "-b", "127.0.0.1:1")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--deny", "user:eve", "--topic", "a"), "is not a user or a role"),
        (("--deny", "User:eve", "--topic", "a", "--host", "10.0.0.0/8"), "not an IP address"),
        (("--deny", "User:eve", "--topic", "a", "--host", "evil.example"), "not an IP address"),
        (("--deny", "User:eve", "--topic", "*", "--prefix"), "no topic is called"),
        (("--deny", "User:eve", "--topic", "orders-*"), "no topic is called"),
    ],
)
def test_a_rule_without_any_effect_is_refused(words: tuple[str, ...], message: str) -> None:
    """A denial that denies nothing looks like protection."""
    done = CliRunner().invoke(acls, ["add", *words, *RULE])

    assert done.exit_code == 2
    assert message in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--operation", "WRITE", "--group", "g"), "a group has no operation WRITE; choose among"),
        (("--operation", "READ", "--cluster"), "a cluster has no operation READ"),
        (
            ("--operation", "CREATE_TOKENS", "--topic", "t"),
            "a topic has no operation CREATE_TOKENS",
        ),
        (("--operation", "READ", "--transactional-id", "t"), "ALL, WRITE, DESCRIBE"),
        (("--operation", "CREATE", "--subject", "s"), "a subject has no operation CREATE"),
    ],
)
def test_an_operation_that_nobody_asks_for_is_refused(words: tuple[str, ...], message: str) -> None:
    done = CliRunner().invoke(acls, ["add", "--allow", "User:a", *words, "-b", "127.0.0.1:1"])

    assert done.exit_code == 2
    assert message in done.output
