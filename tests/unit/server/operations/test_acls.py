"""Access control lists over HTTP: what is sent is what is listed, and what is removed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duolog.security.authorization.operations import Operation, ResourceType
from unit.broker.conftest import Harness
from unit.server.administered import Ask, access_by, administration, asker, cluster, rule

ACCESS = access_by(rule("ann", Operation.ALTER), rule("bob", Operation.DESCRIBE))
READER = {
    "principals": ["User:eve"],
    "operations": ["READ", "DESCRIBE"],
    "resource": "topic",
    "name": "orders-",
    "pattern": "prefixed",
}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Harness]:
    with cluster(tmp_path, **{"authorizer.class.name": "acl"}) as harness:
        yield harness


@pytest.fixture
def ask(broker: Harness) -> Ask:
    return asker(ACCESS, administration=administration(broker))


def row(**changed: str) -> dict[str, str]:
    return {
        "resource": "topic",
        "name": "orders-",
        "pattern": "prefixed",
        "permission": "allow",
        "operation": "READ",
        "principal": "User:eve",
        "host": "*",
        **changed,
    }


def test_rules_are_added_listed_and_removed(ask: Ask) -> None:
    added = ask("POST", "/v1/acls", READER)
    assert (added.status, added.json) == (201, {"added": 2})

    listed = ask("GET", "/v1/acls").json
    assert listed == {
        "enabled": True,
        "rules": [row(operation="DESCRIBE"), row()],
        "total": 2,
        "mayChange": True,
    }

    removed = ask("DELETE", "/v1/acls", {**READER, "operations": ["READ"]})
    assert (removed.status, removed.json) == (200, {"removed": 1})
    assert ask("GET", "/v1/acls").json["rules"] == [row(operation="DESCRIBE")]
    assert ask("DELETE", "/v1/acls", {**READER, "operations": ["READ"]}).status == 404


def test_rules_about_subjects_and_sources_are_those_of_duolog(ask: Ask, broker: Harness) -> None:
    for kind, name in (("subject", ":.:orders-value"), ("source", "default_.ORDERS")):
        sent = {"principals": ["Role:writers"], "operations": ["WRITE"]}
        assert ask("POST", "/v1/acls", {**sent, "resource": kind, "name": name}).status == 201

    own = {one.resource_type: one.resource_name for one in broker.broker.security.state.acls}
    assert own == {
        ResourceType.SUBJECT: "orders-value",
        ResourceType.SOURCE: "default_.ORDERS",
    }
    listed = ask("GET", "/v1/acls?principal=Role:writers").json
    assert [one["resource"] for one in listed["rules"]] == ["source", "subject"]
    assert ask("GET", "/v1/acls?principal=User:eve").json["rules"] == []
    gone = {"principals": ["Role:writers"], "operations": ["WRITE"], "resource": "subject"}
    assert ask("DELETE", "/v1/acls", {**gone, "name": "orders-value"}).json == {"removed": 1}
    assert ask("GET", "/v1/acls?search=subject").json["total"] == 0


def test_a_denial_and_a_rule_about_the_cluster(ask: Ask) -> None:
    sent = {
        "principals": ["User:eve"],
        "operations": ["all"],
        "resource": "cluster",
        "permission": "deny",
        "host": "10.0.0.7",
    }
    assert ask("POST", "/v1/acls", sent).status == 201

    (found,) = ask("GET", "/v1/acls").json["rules"]
    assert found == row(
        resource="cluster",
        name="kafka-cluster",
        pattern="literal",
        permission="deny",
        operation="ALL",
        host="10.0.0.7",
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"principals": []},
        {"operations": []},
        {"principals": ["eve"]},
        {"principals": ["Group:eve"]},
        {"operations": ["FLY"]},
        {"operations": ["UNKNOWN"]},
        {"resource": "any"},
        {"resource": "group", "operations": ["WRITE"]},
        {"pattern": "match"},
        {"permission": "any"},
        {"host": "10.0.0.0/8"},
        {"name": ""},
        {"name": "a*"},
        {"principals": [f"User:{n}" for n in range(101)]},
        {"other": 1},
    ],
)
def test_rules_without_effect_or_sense_are_refused(ask: Ask, changed: dict[str, Any]) -> None:
    """A denial that denies nothing looks like protection."""
    answer = ask("POST", "/v1/acls", {**READER, **changed})

    assert answer.status == 400
    assert ask("GET", "/v1/acls").json["total"] == 0


def test_who_may_only_describe_the_cluster_changes_no_rule(ask: Ask) -> None:
    ask("POST", "/v1/acls", READER)

    assert ask("GET", "/v1/acls", user="bob").json["mayChange"] is False
    assert ask("POST", "/v1/acls", {**READER, "name": "x"}, user="bob").status == 403
    assert ask("DELETE", "/v1/acls", READER, user="bob").status == 403
    assert ask("GET", "/v1/acls").json["total"] == 2
