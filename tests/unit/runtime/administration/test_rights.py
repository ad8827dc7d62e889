"""The hint for a missing right is a command to copy: it must be exact, and safe in a shell."""

import shlex
from types import SimpleNamespace

import pytest

from duolog.core.errors import KafkaError
from duolog.runtime.administration.rights import ensure_answered, rights_hint


def command_in(hint: str) -> list[str]:
    return shlex.split(hint.partition("`")[2].partition("`, or")[0])


@pytest.mark.parametrize(
    ("code", "message", "rule"),
    [
        (
            29,
            'FindCoordinator response error: User:ann has no right to DESCRIBE on topic "a.b"',
            ["--allow", "User:ann", "--operation", "describe", "--topic", "a.b"],
        ),
        (
            30,
            'User:ann has no right to READ on group "two words"',
            ["--allow", "User:ann", "--operation", "read", "--group", "two words"],
        ),
        (
            53,
            'User:ann has no right to WRITE on transactional id "t"',
            ["--allow", "User:ann", "--operation", "write", "--transactional-id", "t"],
        ),
        (
            31,
            "User:CN=ann,O=it's has no right to ALTER on cluster",
            ["--allow", "User:CN=ann,O=it's", "--operation", "alter", "--cluster"],
        ),
        (
            30,
            'User:ann has no right to READ on group "$(rm -rf `pwd`)"',
            ["--allow", "User:ann", "--operation", "read", "--group", "$(rm -rf `pwd`)"],
        ),
    ],
)
def test_the_hint_is_the_rule_that_the_broker_asks_for(
    code: int, message: str, rule: list[str]
) -> None:
    assert command_in(rights_hint(code, message)) == ["duolog", "acls", "add", *rule]


def test_without_a_named_right_the_hint_has_words_to_replace() -> None:
    hint = rights_hint(31, "Broker: Cluster authorization failed")

    assert "--allow User:NAME --operation OPERATION --cluster" in hint
    assert "A producer without --operation write on any topic" in hint
    assert rights_hint(3, "unknown topic") == ""
    assert rights_hint(-195) == ""


def test_an_answer_with_an_error_raises_it_and_its_hint() -> None:
    ensure_answered(SimpleNamespace(error_code=0, error_message=None), "list")
    answer = SimpleNamespace(error_code=31, error_message=None)

    with pytest.raises(KafkaError, match="could not list") as raised:
        ensure_answered(answer, "list")

    assert raised.value.detail == "CLUSTER_AUTHORIZATION_FAILED"
    assert "--cluster" in raised.value.hint
