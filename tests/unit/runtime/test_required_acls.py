"""The rights of an application follow from its plan."""

import pytest

from duolog import Topology, count
from duolog.cli.commands.acls import OPERATIONS, add
from duolog.runtime.required_acls import GROUP, TOPIC, TRANSACTIONAL_ID, Rule, required_acls


def rules_of(*, exactly_once: bool = False, **more: object) -> list[Rule]:
    topology = Topology("totals")
    orders = topology.stream("orders", key="id STRING", value="amount BIGINT")
    orders.group_by_key().aggregate(orders=count()).to("by-id")
    return required_acls(topology.build(), "totals", exactly_once=exactly_once, **more)  # type: ignore[arg-type]


def rule(rules: list[Rule], name: str) -> Rule:
    (found,) = (rule for rule in rules if rule.name == name)
    return found


def test_sources_are_read_and_results_are_written() -> None:
    rules = rules_of()

    assert "Write" not in rule(rules, "orders").operations
    assert "Read" in rule(rules, "orders").operations
    assert "Read" not in rule(rules, "by-id").operations
    assert {"Write", "Create"} <= set(rule(rules, "by-id").operations)


def test_internal_topics_and_groups_are_those_of_the_application() -> None:
    rules = rules_of()

    assert rule(rules, "totals-").prefixed
    assert rule(rules, "duolog-totals-").kind == GROUP
    assert all(found.name != "*" for found in rules)


@pytest.mark.parametrize("exactly_once", [True, False])
def test_transactions_need_their_ids(*, exactly_once: bool) -> None:
    kinds = {found.kind for found in rules_of(exactly_once=exactly_once)}

    assert (TRANSACTIONAL_ID in kinds) is exactly_once


def test_options_add_rights() -> None:
    rules = rules_of(dead_letter_topic="dead", creates_sources=True)

    assert "Write" in rule(rules, "dead").operations
    assert "Create" in rule(rules, "orders").operations


@pytest.mark.parametrize(
    ("pattern", "name", "prefixed"), [("orders-.*", "orders-", True), (".*-in", "*", False)]
)
def test_a_pattern_needs_the_topics_that_begin_like_it(
    pattern: str, name: str, *, prefixed: bool
) -> None:
    topology = Topology("totals")
    topology.stream(pattern=pattern, key="id STRING", value="amount BIGINT").to("copies")

    found = rule(required_acls(topology.build(), "totals", exactly_once=False), name)

    assert (found.kind, found.prefixed) == (TOPIC, prefixed)


def test_a_rule_is_a_command_of_kafka() -> None:
    command = Rule(TOPIC, "a-", ("Read", "Write"), prefixed=True).command("User:x", "h:1")

    assert " ".join(command) == (
        "kafka-acls.sh --bootstrap-server h:1 --add --allow-principal User:x --operation Read "
        "--operation Write --topic a- --resource-pattern-type prefixed"
    )


def test_a_rule_is_a_command_of_duolog_that_grants_the_same() -> None:
    """Every rule of an application is one that `duolog acls add` accepts."""
    options = ("-b", "h:1")
    command = Rule(TOPIC, "a-", ("Read", "DescribeConfigs"), prefixed=True).own_command(
        "User:x", options
    )

    assert " ".join(command) == (
        "duolog acls add --allow User:x --operation read --operation describe_configs --topic a- "
        "--prefix -b h:1"
    )
    found = rules_of(exactly_once=True, dead_letter_topic="dead", creates_sources=True)
    for each in found:
        context = add.make_context("add", each.own_command("User:x", options)[3:])
        assert set(context.params["operations"]) <= set(OPERATIONS)
        assert len(context.params["operations"]) == len(each.operations)
