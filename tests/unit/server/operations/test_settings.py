"""Settings over HTTP: value, default and source; secrets stay on the broker."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duolog.ksql import settings
from duolog.ksql.settings import Settings
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.server.administration.property_docs import DOCS
from duolog.server.administration.shown import properties_json
from unit.broker.conftest import Harness
from unit.server.administered import Ask, access_by, administration, asker, cluster, rule

ACCESS = access_by(
    rule("ann", Operation.ALTER_CONFIGS),
    rule("ann", Operation.ALTER_CONFIGS, ResourceType.TOPIC, "orders"),
    rule("bob", Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, "orders"),
)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Harness]:
    started = {"authorizer.class.name": "acl", "log.retention.ms": "7000", "log.roll.ms": "5000"}
    with cluster(tmp_path, **started) as harness:
        harness.topic("orders")
        yield harness


@pytest.fixture
def ask(broker: Harness) -> Ask:
    return asker(ACCESS, administration=administration(broker))


def one(ask: Ask, target: str, name: str, user: str = "ann") -> dict[str, Any]:
    rows = ask("GET", f"{target}&limit=1000", user=user).json["settings"]
    (found,) = [row for row in rows if row["name"] == name]
    return dict(found)


def test_a_setting_has_value_default_source_and_documentation(ask: Ask) -> None:
    found = one(ask, "/v1/settings?of=broker&name=0", "log.retention.ms")

    assert "segment is deleted" in found.pop("documentation")
    assert found.pop("places") == [{"source": "start", "name": "log.retention.ms", "value": "7000"}]
    assert found == {
        "name": "log.retention.ms",
        "value": "7000",
        "default": None,
        "changed": True,
        "source": "start",
        "type": "long",
        "sensitive": False,
        "dynamic": True,
    }
    fixed = one(ask, "/v1/settings?of=broker&name=0", "num.partitions")
    assert (fixed["changed"], fixed["default"], fixed["dynamic"]) == (False, "1", False)


def test_a_secret_is_never_answered(tmp_path: Path) -> None:
    secret = "very-secret"  # noqa: S105 - to be looked for
    started = {"authorizer.class.name": "acl", "ssl.key.password": secret}
    with cluster(tmp_path, **started) as broker:
        ask = asker(ACCESS, administration=administration(broker))
        answer = ask("GET", "/v1/settings?of=broker&name=0&limit=1000")

    (found,) = [row for row in answer.json["settings"] if row["name"] == "ssl.key.password"]
    assert (found["value"], found["sensitive"], found["changed"]) == (None, True, True)
    assert secret not in answer.text


def test_a_setting_of_a_topic_is_changed_and_set_back(ask: Ask) -> None:
    target = "/v1/settings?of=topic&name=orders"
    change = {"of": "topic", "name": "orders", "changes": {"retention.ms": "1234"}}

    assert one(ask, target, "retention.ms")["source"] == "start"
    assert ask("POST", "/v1/settings", change).status == 200
    changed = one(ask, target, "retention.ms")
    assert (changed["value"], changed["source"]) == ("1234", "topic")
    listed = ask("GET", f"{target}&changed=true").json["settings"]
    assert {row["name"] for row in listed} == {"retention.ms", "segment.ms"}

    change["changes"] = {"retention.ms": None}
    assert ask("POST", "/v1/settings", change).status == 200
    assert one(ask, target, "retention.ms")["value"] == "7000"


def test_a_setting_of_the_broker_is_changed_at_run_time(ask: Ask, broker: Harness) -> None:
    for name, source in (("0", "broker"), ("", "all brokers")):
        change = {"of": "broker", "name": name, "changes": {"log.retention.ms": "99"}}

        assert ask("POST", "/v1/settings", change).status == 200
        found = one(ask, "/v1/settings?of=broker&name=0", "log.retention.ms")
        assert (found["value"], found["source"]) == ("99", source)
        assert broker.broker.settings.integer("log.retention.ms") == 99
        ask("POST", "/v1/settings", {**change, "changes": {"log.retention.ms": None}})


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"of": "topic", "name": "orders", "changes": {"retention.ms": "soon"}}, 400),
        ({"of": "topic", "name": "orders", "changes": {"no.such": "1"}}, 400),
        ({"of": "topic", "name": "orders", "changes": {}}, 400),
        ({"of": "topic", "name": "orders", "changes": {"retention.ms": 5}}, 400),
        ({"of": "topic", "name": "", "changes": {"retention.ms": "5"}}, 400),
        ({"of": "server", "changes": {"auto.offset.reset": "earliest"}}, 400),
        ({"of": "broker", "name": "0", "changes": {"num.partitions": "3"}}, 400),
        ({"of": "broker", "name": "7", "changes": {"log.retention.ms": "3"}}, 400),
        ({"of": "topic", "name": "other", "changes": {"retention.ms": "5"}}, 403),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(ask: Ask, body: Any, status: int) -> None:
    assert ask("POST", "/v1/settings", body).status == status


def test_rights_are_those_of_kafkas_requests(ask: Ask) -> None:
    topic = "/v1/settings?of=topic&name=orders"
    read = ask("GET", topic, user="bob")
    assert (read.status, read.json["mayChange"]) == (200, False)
    change = {"of": "topic", "name": "orders", "changes": {"retention.ms": "5"}}
    assert ask("POST", "/v1/settings", change, user="bob").status == 403
    for target in ("of=broker&name=0", "of=broker", "of=topic&name=other", "of=topic&name=nope"):
        assert ask("GET", f"/v1/settings?{target}", user="bob").status == 403
    assert ask("GET", "/v1/settings", user="bob").json == {
        "kinds": ["topic", "server"],
        "brokers": [],
    }
    assert ask("GET", "/v1/settings").json == {
        "kinds": ["broker", "topic", "server"],
        "brokers": [{"id": "0", "address": "127.0.0.1:9092"}],
    }


def test_settings_are_searched_in_names_and_documentation(ask: Ask) -> None:
    found = ask("GET", "/v1/settings?of=topic&name=orders&search=retention.ms").json

    assert "retention.ms" in {row["name"] for row in found["settings"]}
    assert all(
        "retention.ms" in f"{row['name']} {row['documentation']}" for row in found["settings"]
    )
    assert ask("GET", "/v1/settings?of=cluster").status == 400


def test_properties_of_the_server_hide_secrets_and_show_what_was_given() -> None:
    secret = {"consumer.sasl.jaas.config": "password"}
    given = {settings.OFFSET_RESET: "earliest", settings.KEY_FORMAT: "KAFKA", **secret}

    rows = {row["name"]: row for row in properties_json(Settings(given), given)}

    reset = rows[settings.OFFSET_RESET]
    assert (reset["value"], reset["default"], reset["changed"]) == ("earliest", "latest", True)
    assert rows[settings.KEY_FORMAT]["changed"] is False
    hidden = rows["consumer.sasl.jaas.config"]
    assert (hidden["value"], hidden["sensitive"]) == (settings.HIDDEN, True)
    assert "password" not in str(rows)


def test_every_property_with_a_default_is_documented() -> None:
    assert settings.DEFAULTS.keys() <= DOCS.keys()
    assert all(text.endswith(".") for text in DOCS.values())
