import pytest

from duolog.registry.contracts import Metadata, Rule, RuleSet
from duolog.registry.contracts.metadata import merged as merged_metadata
from duolog.registry.contracts.rule_set import InvalidRuleError, RuleMode
from duolog.registry.contracts.rule_set import merged as merged_rules


def rule(name: str | None = "r", mode: RuleMode = RuleMode.WRITE, **more: str) -> Rule:
    return Rule(name, mode=mode, **{"type": "CEL", **more})  # type: ignore[arg-type]


def test_names_are_in_the_order_of_java() -> None:
    metadata = Metadata.from_json(
        {"properties": {"\uffff": "1", "\U0001f600": "2", "a": "3"}, "sensitive": ["b", "a", "b"]}
    )

    assert list(metadata.properties) == ["a", "\U0001f600", "\uffff"]
    assert metadata.sensitive == ("a", "b")


def test_the_values_of_new_metadata_win() -> None:
    old = Metadata(tags={"x": ("1",)}, properties={"a": "1", "b": "1"}, sensitive=("a",))
    new = Metadata(tags={"x": ("2",)}, properties={"b": "2"}, sensitive=("b",))

    assert merged_metadata(old, new) == Metadata({"x": ("2",)}, {"a": "1", "b": "2"}, ("a", "b"))
    assert merged_metadata(None, new) is new
    assert merged_metadata(old, None) is old


def test_new_rules_replace_those_of_their_name_and_follow_the_others() -> None:
    old = RuleSet(domain_rules=(rule("a"), rule("b"), rule("c")))
    new = RuleSet(domain_rules=(rule("b", expr="new"), rule("d")))

    merged = merged_rules(old, new)

    assert merged is not None
    assert [part.name for part in merged.domain_rules] == ["a", "c", "b", "d"]
    assert merged.domain_rules[2].expr == "new"


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (RuleSet(domain_rules=(rule(None),)), "Missing rule name"),
        (RuleSet(domain_rules=(rule(""),)), "Empty rule name"),
        (RuleSet(domain_rules=(rule("r" * 257),)), "Rule name too long"),
        (RuleSet(domain_rules=(rule("1r"),)), "Illegal initial character in rule name: 1r"),
        (RuleSet(domain_rules=(rule("r.s"),)), "Illegal character in rule name: r.s"),
        (RuleSet(domain_rules=(Rule("r"),)), "Missing rule type"),
        (
            RuleSet(domain_rules=(rule(on_failure="NONE,DLQ"),)),
            "Multiple actions only valid with WRITEREAD and UPDOWN",
        ),
        (RuleSet(domain_rules=(rule(), rule())), "Found rule with duplicate name 'r'"),
        (
            RuleSet(migration_rules=(rule("m", RuleMode.UPGRADE),), encoding_rules=(rule("m"),)),
            "Found rule with duplicate name 'm'",
        ),
        (
            RuleSet(migration_rules=(rule(),)),
            "Migration rules can only be UPGRADE, DOWNGRADE, UPDOWN",
        ),
        (
            RuleSet(domain_rules=(rule(mode=RuleMode.UPDOWN),)),
            "Domain rules can only be WRITE, READ, WRITEREAD",
        ),
        (
            RuleSet(encoding_rules=(rule(mode=RuleMode.UPGRADE),)),
            "Encoding rules can only be WRITE, READ, WRITEREAD",
        ),
    ],
)
def test_a_rule_that_is_not_valid_is_named(rules: RuleSet, message: str) -> None:
    with pytest.raises(InvalidRuleError, match=f"^{message}$"):
        rules.validate()


def test_two_actions_are_valid_for_both_directions() -> None:
    both = rule(mode=RuleMode.WRITEREAD, on_failure="NONE,ERROR", on_success="NONE,NONE")

    RuleSet(domain_rules=(both,)).validate()
