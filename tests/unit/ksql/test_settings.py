"""SET: the effect of properties, and the note for properties without effect."""

from collections.abc import Iterator

import pytest

from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.ksql.settings import (
    COMPATIBILITY,
    DEFAULTS,
    JVM_GROUP,
    REGISTRY,
    REGISTRY_USER,
    REGISTRY_USER_SOURCE,
    Settings,
)
from duolog.schemas.registry_users import forget_users, user_of

ADDRESS = "http://registry:8081"

BEGIN = (
    "CREATE STREAM rides (id INT KEY, km DOUBLE) WITH (kafka_topic='rides', value_format='JSON'); "
)


def answered(statements: str) -> str:
    *_, done = SqlSession().run(statements)
    return done.message


def test_a_property_in_use_is_set_without_a_warning() -> None:
    assert (
        answered("SET 'auto.offset.reset' = 'earliest';")
        == "Successfully changed local property 'auto.offset.reset' from 'latest' to 'earliest'."
    )


@pytest.mark.parametrize(
    "name", ["ksql.streams.num.stream.threads", "producer.linger.ms", "cache.max.bytes.buffering"]
)
def test_setting_an_unused_property_warns(name: str) -> None:
    assert answered(f"SET '{name}' = '4';") == (
        f"Successfully changed local property '{name}' to '4'. "
        "It has no effect: Duolog does not use this property."
    )


@pytest.mark.parametrize("value", ["abc", "-5", "1.5", ""])
@pytest.mark.parametrize("name", ["ksql.query.pull.timeout.ms", "ksql.query.pull.memory.bytes.max"])
def test_a_limit_of_pull_queries_is_an_integer(name: str, value: str) -> None:
    with pytest.raises(SqlError, match=f"Invalid value {value} for property '{name}'"):
        answered(f"SET '{name}' = '{value}';")


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_property_with_a_default_is_used(name: str) -> None:
    assert "does not use this property" not in answered(f"SET '{name}' = '{DEFAULTS[name]}';")


@pytest.mark.parametrize("name", ["commit.interval.ms", "ksql.query.retry.backoff.initial.ms"])
def test_a_property_read_at_startup_reports_how_to_set_it(name: str) -> None:
    assert answered(f"SET '{name}' = '100';").endswith(
        f"It has no effect until the next start. Start with --set {name}=…."
    )


def test_a_property_that_only_refuses_needs_strict_mode() -> None:
    scans = "SET 'ksql.query.pull.table.scan.enabled' = 'false';"

    assert "no effect unless 'ksql.compatibility' is 'strict'" in answered(scans)
    assert answered(f"SET 'ksql.compatibility' = 'strict'; {scans}").endswith("to 'false'.")


@pytest.mark.parametrize(
    ("statement", "topic"),
    [
        ("CREATE STREAM far AS SELECT * FROM rides WHERE km > 9;", "eu-FAR"),
        ("CREATE TABLE far AS SELECT id, COUNT(*) AS n FROM rides GROUP BY id;", "eu-FAR"),
        ("CREATE STREAM far WITH (kafka_topic='far') AS SELECT * FROM rides;", "far"),
    ],
)
def test_topics_of_results_begin_with_the_prefix_that_is_set(statement: str, topic: str) -> None:
    session = SqlSession()
    *_, done = session.run(f"{BEGIN} SET 'ksql.output.topic.name.prefix' = 'eu-'; {statement}")

    assert done.query is not None
    assert done.query.planned.topic == topic
    assert session.catalog.sources["FAR"].topic == topic


@pytest.fixture
def registry() -> Iterator[str]:
    yield ADDRESS
    forget_users(ADDRESS)


def test_the_user_of_a_registry_is_kept_out_of_the_settings(registry: str) -> None:
    session = SqlSession(given={REGISTRY: "http://ann:secret@registry:8081"})

    assert session.state.settings.given == {REGISTRY: registry}
    assert user_of(registry) == "ann:secret"

    (done,) = session.run(f"SET '{REGISTRY}' = 'http://bob:other@registry:8081';")
    assert done.message == (
        f"Successfully changed local property '{REGISTRY}' from '{registry}' to '{registry}'."
    )
    assert user_of(registry) == "bob:other"
    assert "other" not in repr(session.state.settings.rows())


@pytest.mark.parametrize("address_first", [True, False])
def test_a_user_in_a_setting_of_its_own_is_used(registry: str, *, address_first: bool) -> None:
    session = SqlSession()
    both = [f"SET '{REGISTRY}' = '{registry}';", f"SET '{REGISTRY_USER}' = 'ann:secret';"]

    messages = [
        done.message
        for statement in (both if address_first else both[::-1])
        for done in session.run(statement)
    ]

    assert user_of(registry) == "ann:secret"
    assert "secret" not in repr([messages, session.state.settings.given])
    (done,) = session.run(f"UNSET '{REGISTRY_USER}';")
    assert done.message.endswith("(value was '[hidden]').")
    assert user_of(registry) is None


def test_the_user_in_the_address_is_used_if_the_source_is_the_address(registry: str) -> None:
    given = {REGISTRY: "http://ann:one@registry:8081", REGISTRY_USER: "bob:two"}

    Settings(given)
    assert user_of(registry) == "bob:two"
    Settings(given | {REGISTRY_USER_SOURCE: "URL"})
    assert user_of(registry) == "ann:one"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        (REGISTRY, "http://ann:se/cret@host", "has a user that cannot be read"),
        (REGISTRY_USER, "cret", "Invalid value for property"),
        (REGISTRY_USER, ":cret", "Invalid value for property"),
        (REGISTRY_USER_SOURCE, "SASL_INHERIT", "Invalid value SASL_INHERIT"),
    ],
)
def test_an_invalid_user_of_a_registry_is_refused(name: str, value: str, expected: str) -> None:
    settings = Settings()

    with pytest.raises(SqlError, match=expected) as caught:
        settings.set(name, value)

    assert "cret" not in caught.value.render()
    assert settings.given == {}


def test_a_setting_of_clients_is_named_in_the_hint() -> None:
    with pytest.raises(SqlError, match="Not recognizable") as caught:
        Settings().set("value.subject.name.strategy", "RecordNameStrategy")

    assert caught.value.hint == "Use 'ksql.schema.registry.value.subject.name.strategy'."


def test_a_group_of_queries_has_a_name_and_no_reserved_one() -> None:
    settings = Settings()
    settings.set(JVM_GROUP, "heavy-1")

    assert settings[JVM_GROUP] == "heavy-1"
    for refused in ("", "Heavy", "a" * 31, "a/b", "../a", "-a", "quarantine", "quarantine-1"):
        with pytest.raises(SqlError, match="Invalid value"):
            settings.set(JVM_GROUP, refused)


def test_limits_of_groups_are_properties_of_the_server() -> None:
    settings = Settings()
    name = "duolog.query.jvm.group.heavy.memory.bytes"
    settings.set(name, "1000000000")

    assert "next start" in settings.without_effect(name)
    assert settings.without_effect(JVM_GROUP) == ""
    with pytest.raises(SqlError, match="Invalid value 1g"):
        settings.set(name, "1g")
    with pytest.raises(SqlError, match="Not recognizable"):
        settings.set("duolog.query.jvm.group.heavy.color", "1")
    with pytest.raises(SqlError, match="Not recognizable"):
        Settings({COMPATIBILITY: "strict"}).set(JVM_GROUP, "heavy")


@pytest.mark.parametrize(
    "name", ["consumer.ssl.keystore.password", "ksql.streams.sasl.jaas.config", "producer.secret"]
)
def test_a_client_does_not_see_the_secret_that_it_replaces(name: str) -> None:
    session = SqlSession(given={name: "of the server"})

    changed = [done.message for done in session.run(f"SET '{name}' = 'mine'; UNSET '{name}';")]

    assert not any("of the server" in one or "mine" in one for one in changed), changed
    assert all("[hidden]" in one for one in changed)
