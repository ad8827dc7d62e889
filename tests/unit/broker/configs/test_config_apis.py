"""Configs of topics, brokers, groups, clients' metrics and loggers, read and changed by clients."""

import logging
from collections.abc import Iterator
from typing import Any, Final

import pytest

from duolog.broker.configs.group_resource import SESSION_TIMEOUT
from duolog.log.files.checked_file import write_checked
from duolog.log.files.disk import RealDisk
from duolog.log.settings import TOPIC_SETTINGS
from duolog.protocol.error_codes import ErrorCode

DESCRIBE, ALTER, INCREMENTAL, LIST_RESOURCES = 32, 33, 44, 74
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
SIZE: Final = "message.max.bytes"


def describe(client: Any, kind: int, name: str, *keys: str, version: int = 4, **more: Any) -> Any:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys or None}
    fields = {"include_synonyms": True, "include_documentation": True, **more}
    return client.ask(DESCRIBE, version, resources=[resource], **fields).results[0]


def one(client: Any, kind: int, name: str, key: str) -> tuple[str, int]:
    (row,) = describe(client, kind, name, key).configs
    return row.value, row.config_source


def alter(
    client: Any, kind: int, name: str, *changes: tuple[str, int, str | None], **more: Any
) -> Any:
    configs = [
        {"name": config, "config_operation": operation, "value": value}
        for config, operation, value in changes
    ]
    resources = [{"resource_type": kind, "resource_name": name, "configs": configs}]
    return client.ask(INCREMENTAL, 1, resources=resources, **more).responses[0]


def replace(
    client: Any,
    kind: int,
    name: str,
    version: int = 2,
    /,
    *,
    validate_only: bool = False,
    **to: str,
) -> Any:
    configs = [{"name": key.replace("_", "."), "value": value} for key, value in to.items()]
    resources = [{"resource_type": kind, "resource_name": name, "configs": configs}]
    answer = client.ask(ALTER, version, resources=resources, validate_only=validate_only)
    return answer.responses[0]


# Topics


def test_all_topic_configs_of_kafka_are_described(harness: Any) -> None:
    harness.topic("a")

    rows = describe(harness.client(), TOPIC, "a").configs

    assert len(rows) == 33
    assert all(row.documentation for row in rows)
    assert not any(row.read_only or row.is_sensitive for row in rows)


@pytest.mark.parametrize("version", range(1, 5))
def test_synonyms_types_and_docs_are_returned_if_the_version_has_them(
    open_harness: Any, version: int
) -> None:
    harness = open_harness(log_retention_hours="2")
    harness.topic("a", cleanup_policy="compact")
    client = harness.client()

    rows = {row.name: row for row in describe(client, TOPIC, "a", version=version).configs}
    bare = describe(
        client, TOPIC, "a", version=version, include_synonyms=False, include_documentation=False
    )

    policy, retention = rows["cleanup.policy"], rows["retention.ms"]
    assert (policy.value, policy.config_source) == ("compact", 1)
    assert [(s.name, s.source) for s in policy.synonyms] == [
        ("cleanup.policy", 1),
        ("log.cleanup.policy", 5),
    ]
    assert (retention.value, retention.config_source) == ("7200000", 4)
    assert [(s.name, s.value) for s in retention.synonyms] == [("log.retention.hours", "2")]
    assert not any(row.synonyms for row in bare.configs)
    if version >= 3:
        assert policy.config_type == 7
        assert policy.documentation
        assert not any(row.documentation for row in bare.configs)


@pytest.mark.parametrize(
    ("config", "value"),
    [
        ("segment.bytes", "1048575"),
        ("compression.gzip.level", "0"),
        ("leader.replication.throttled.replicas", "0:1:2"),
        ("remote.storage.enable", "true"),
        ("min.compaction.lag.ms", "9223372036854775808"),
        ("cleanup.policy", "compact,"),
    ],
)
def test_a_value_that_kafka_refuses_is_refused(harness: Any, config: str, value: str) -> None:
    harness.topic("a")

    answer = alter(harness.client(), TOPIC, "a", (config, SET, value))

    assert answer.error_code == ErrorCode.INVALID_CONFIG
    assert config in answer.error_message
    assert harness.broker.topics.find("a").configs == {}


def test_two_lags_that_contradict_each_other_are_refused(harness: Any) -> None:
    harness.topic("a")
    client = harness.client()
    alter(client, TOPIC, "a", ("max.compaction.lag.ms", SET, "5"))

    answer = alter(client, TOPIC, "a", ("min.compaction.lag.ms", SET, "6"))

    assert answer.error_code == ErrorCode.INVALID_CONFIG


def test_an_unknown_setting_names_the_nearest(harness: Any) -> None:
    harness.topic("a")

    answer = alter(harness.client(), TOPIC, "a", ("retention.mss", SET, "1"))

    assert answer.error_code == ErrorCode.INVALID_CONFIG
    # Programs look for the first sentence, which is Kafka's.
    assert answer.error_message == (
        'Unknown topic config name: retention.mss. The nearest known name is "retention.ms".'
    )


@pytest.mark.parametrize("version", range(3))
def test_alter_configs_replaces_all_that_was_set(harness: Any, version: int) -> None:
    harness.topic("a", retention_ms="5", segment_ms="7")
    client = harness.client()

    checked = replace(client, TOPIC, "a", version, validate_only=True, flush_ms="9")
    unchanged = dict(harness.broker.topics.find("a").configs)
    answer = replace(client, TOPIC, "a", version, flush_ms="9")

    assert (checked.error_code, answer.error_code) == (0, 0)
    assert unchanged == {"retention.ms": "5", "segment.ms": "7"}
    assert harness.broker.topics.find("a").configs == {"flush.ms": "9"}


def test_alter_configs_refuses_what_it_cannot_change(harness: Any) -> None:
    harness.topic("a", retention_ms="5")
    client = harness.client()
    twice = {"resource_type": TOPIC, "resource_name": "a", "configs": []}
    null = {**twice, "configs": [{"name": "flush.ms", "value": None}]}

    codes = [
        replace(client, TOPIC, "missing", flush_ms="9").error_code,
        replace(client, TOPIC, "a", nothing="9").error_code,
        replace(client, LOGGER, "0", root="INFO").error_code,
        replace(client, 99, "a", flush_ms="9").error_code,
        client.ask(ALTER, 2, resources=[null]).responses[0].error_code,
        *(row.error_code for row in client.ask(ALTER, 2, resources=[twice, twice]).responses),
    ]

    bad = ErrorCode.INVALID_REQUEST
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == [unknown, ErrorCode.INVALID_CONFIG, bad, bad, bad, bad, bad]
    assert harness.broker.topics.find("a").configs == {"retention.ms": "5"}


def test_several_resources_are_changed_each_for_itself(harness: Any) -> None:
    harness.topic("a")
    harness.topic("b")
    client = harness.client()
    resources = [
        {
            "resource_type": TOPIC,
            "resource_name": name,
            "configs": [{"name": "retention.ms", "config_operation": SET, "value": value}],
        }
        for name, value in (("a", "5"), ("missing", "5"), ("b", "x"))
    ]

    rows = client.ask(INCREMENTAL, 0, resources=resources).responses

    assert [(row.resource_name, row.error_code) for row in rows] == [
        ("a", 0),
        ("missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("b", ErrorCode.INVALID_CONFIG),
    ]
    assert harness.broker.topics.find("a").configs == {"retention.ms": "5"}


def test_changes_in_one_request_after_the_other_see_each_other(harness: Any) -> None:
    """Two clients append to the same list at the same time; none is lost."""
    harness.topic("a")
    first, second = harness.client(), harness.client()
    name = "follower.replication.throttled.replicas"
    for client, item in ((first, "0:1"), (second, "0:2")):
        configs = [{"name": name, "config_operation": APPEND, "value": item}]
        resource = {"resource_type": TOPIC, "resource_name": "a", "configs": configs}
        client.send(INCREMENTAL, 1, resources=[resource])

    codes = [client.receive().responses[0].error_code for client in (first, second)]

    assert codes == [0, 0]
    assert set(harness.broker.topics.find("a").configs[name].split(",")) == {"0:1", "0:2"}


# Brokers


def test_settings_of_kafka_are_described(harness: Any) -> None:
    rows = {row.name: row for row in describe(harness.client(), BROKER, "0").configs}

    assert rows["log.dirs"].value == harness.broker.data_dir
    assert rows["broker.id"].value == "0"
    assert rows["node.id"].read_only
    assert not rows[SIZE].read_only
    assert {"listeners", "advertised.listeners"} <= set(rows)
    assert (rows["log.retention.ms"].value, rows["log.retention.hours"].value) == (None, "168")
    assert rows["broker.rack"].value is None


def test_a_setting_of_run_time_wins_over_that_of_the_start_and_lasts(open_harness: Any) -> None:
    harness = open_harness(message_max_bytes="900")
    harness.topic("a")
    client = harness.client()
    big = harness.batch(b"x" * 1000)

    refused = client.produce("a", big).error_code
    for_all = alter(client, BROKER, "", (SIZE, SET, "2000")).error_code
    taken = client.produce("a", big).error_code
    own = alter(client, BROKER, "0", (SIZE, SET, "500")).error_code
    (row,) = describe(client, BROKER, "0", SIZE).configs
    harness.stop()
    harness = open_harness(message_max_bytes="900")
    client = harness.client()

    assert (for_all, own) == (0, 0)
    assert (refused, taken) == (ErrorCode.MESSAGE_TOO_LARGE, 0)
    assert [(s.value, s.source) for s in row.synonyms] == [
        ("500", 2),
        ("2000", 3),
        ("900", 4),
        ("1048588", 5),
    ]
    assert one(client, BROKER, "0", SIZE) == ("500", 2)
    assert one(client, BROKER, "", SIZE) == ("2000", 3)
    assert one(client, TOPIC, "a", "max.message.bytes") == ("500", 2)
    assert client.produce("a", big).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert alter(client, BROKER, "0", (SIZE, DELETE, None)).error_code == 0
    assert client.produce("a", big).error_code == 0


@pytest.mark.parametrize(
    ("name", "change", "code"),
    [
        ("", ("node.id", SET, "7"), ErrorCode.INVALID_REQUEST),
        ("0", ("log.dirs", SET, "/x"), ErrorCode.INVALID_REQUEST),
        ("", (SIZE, SET, "-1"), ErrorCode.INVALID_REQUEST),
        ("", (SIZE, SET, None), ErrorCode.INVALID_REQUEST),
        ("", (SIZE, 9, "1"), ErrorCode.INVALID_REQUEST),
        ("", (SIZE, APPEND, "1"), ErrorCode.INVALID_CONFIG),
        ("7", (SIZE, SET, "1"), ErrorCode.INVALID_REQUEST),
        ("", ("message.max.byte", SET, "1"), ErrorCode.INVALID_CONFIG),
    ],
)
def test_a_broker_refuses_what_cannot_be_changed_at_run_time(
    harness: Any, name: str, change: tuple[str, int, str | None], code: int
) -> None:
    client = harness.client()

    assert alter(client, BROKER, name, change).error_code == code
    assert describe(client, BROKER, "").configs == ()


def test_settings_without_effect_are_accepted_and_returned_as_in_kafka(open_harness: Any) -> None:
    harness = open_harness(num_replica_fetchers="4", ssl_key_password="s3cret")  # noqa: S106
    client = harness.client()
    threads, secret, reporters = "num.io.threads", "ssl.keystore.key", "metric.reporters"

    codes = [
        alter(client, BROKER, "", (threads, SET, "16")).error_code,
        alter(client, BROKER, "0", (secret, SET, "t0psecret")).error_code,
        alter(client, BROKER, "0", (reporters, APPEND, "com.example.Reporter")).error_code,
        alter(client, BROKER, "", (threads, SET, "0")).error_code,
        alter(client, BROKER, "", ("queued.max.requests", SET, "9")).error_code,
    ]
    harness.stop()
    client = open_harness(num_replica_fetchers="4").client()
    rows = {row.name: row for row in describe(client, BROKER, "0").configs}

    bad = ErrorCode.INVALID_REQUEST
    assert codes == [0, 0, 0, bad, bad]
    assert one(client, BROKER, "0", threads) == ("16", 3)
    assert one(client, BROKER, "0", "num.replica.fetchers") == ("4", 4)
    assert rows["offsets.topic.replication.factor"].value == "3"
    assert rows[reporters].value.endswith("JmxReporter,com.example.Reporter")
    assert (rows[secret].value, rows[secret].is_sensitive) == (None, True)
    assert [(found.value, found.source) for found in rows[secret].synonyms] == [(None, 2)]
    assert rows["ssl.key.password"].value is None
    assert rows[threads].documentation.startswith("Kept, no effect: one loop")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("log.cleaner.io.max.bytes.per.second", "1000000.0"),
        ("log.cleaner.dedupe.buffer.size", "9999999"),
        ("max.connections.per.ip", "7"),
    ],
)
def test_settings_read_on_each_use_can_be_changed(harness: Any, name: str, value: str) -> None:
    client = harness.client()

    assert alter(client, BROKER, "", (name, SET, value)).error_code == 0
    assert one(client, BROKER, "0", name) == (value, 3)
    assert harness.broker.settings.text(name) == value


def test_a_list_of_the_broker_is_appended_to_and_a_check_changes_nothing(harness: Any) -> None:
    client = harness.client()
    policy = "log.cleanup.policy"

    assert (
        alter(client, BROKER, "", (policy, APPEND, "compact"), validate_only=True).error_code == 0
    )
    assert one(client, BROKER, "0", policy) == ("delete", 5)
    assert alter(client, BROKER, "", (policy, APPEND, "compact")).error_code == 0
    assert one(client, BROKER, "0", policy) == ("delete,compact", 3)
    assert alter(client, BROKER, "", (policy, SUBTRACT, "delete")).error_code == 0
    assert one(client, BROKER, "0", policy) == ("compact", 3)


def test_a_setting_that_a_later_version_has_kept_is_left_out_at_a_start(
    open_harness: Any, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    open_harness().stop()
    write_checked(
        RealDisk(), str(tmp_path / "data"), "dynamic-configs", b'{"4": {"": {"of.tomorrow": "1"}}}'
    )

    harness = open_harness()

    assert describe(harness.client(), BROKER, "").configs == ()
    assert "left out" in caplog.text


# Clients' metrics


def test_subscriptions_of_clients_metrics_are_kept_and_listed(harness: Any) -> None:
    client = harness.client()

    codes = [
        alter(
            client, METRICS, "m", ("metrics", SET, "a,b"), ("interval.ms", SET, "100")
        ).error_code,
        alter(client, METRICS, "m", ("interval.ms", SET, "99")).error_code,
        alter(client, METRICS, "m", ("match", SET, "client_id=x.*")).error_code,
        alter(client, METRICS, "m", ("match", SET, "client_id=*[")).error_code,
        alter(client, METRICS, "m", ("match", SET, "shoe.size=4")).error_code,
        alter(client, METRICS, "m", ("other", SET, "1")).error_code,
        alter(client, METRICS, "", ("metrics", SET, "a")).error_code,
    ]

    bad, config = ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CONFIG
    assert codes == [0, bad, 0, config, config, bad, bad]
    assert one(client, METRICS, "m", "metrics") == ("a,b", 7)
    assert one(client, METRICS, "other", "interval.ms") == ("300000", 5)
    assert [row.resource_name for row in client.ask(LIST_RESOURCES, 0).config_resources] == ["m"]


def test_resources_with_configs_are_listed_by_kind(harness: Any) -> None:
    harness.topic("a")
    client = harness.client()
    alter(client, GROUP, "g", (SESSION_TIMEOUT, SET, "50000"))

    def listed(*kinds: int) -> list[tuple[int, str]]:
        answer = client.ask(LIST_RESOURCES, 1, resource_types=kinds)
        assert answer.error_code == 0
        return [(row.resource_type, row.resource_name) for row in answer.config_resources]

    assert listed() == [(TOPIC, "a"), (BROKER, "0"), (LOGGER, "0"), (GROUP, "g")]
    assert listed(GROUP) == [(GROUP, "g")]
    assert client.ask(LIST_RESOURCES, 1, resource_types=[99]).error_code == (
        ErrorCode.UNSUPPORTED_VERSION
    )


# Loggers


@pytest.fixture
def levels_kept() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in ("duolog", "duolog.broker.broker")]
    levels = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


@pytest.mark.usefixtures("levels_kept")
def test_levels_of_log_lines_are_changed_for_as_long_as_the_broker_runs(harness: Any) -> None:
    client = harness.client()
    name = "duolog.broker.broker"

    codes = [
        alter(client, LOGGER, "0", ("root", SET, "ERROR")).error_code,
        alter(client, LOGGER, "0", (name, SET, "DEBUG")).error_code,
        alter(client, LOGGER, "0", (name, SET, "WARN"), validate_only=True).error_code,
    ]

    assert codes == [0, 0, 0]
    assert one(client, LOGGER, "0", "root") == ("ERROR", 6)
    assert one(client, LOGGER, "0", name) == ("DEBUG", 6)
    assert alter(client, LOGGER, "0", (name, DELETE, None)).error_code == 0
    assert one(client, LOGGER, "0", name) == ("ERROR", 6)


@pytest.mark.usefixtures("levels_kept")
def test_the_audit_log_cannot_be_turned_off(harness: Any, caplog: pytest.LogCaptureFixture) -> None:
    client = harness.client()

    hidden = alter(client, LOGGER, "0", ("duolog.audit", SET, "FATAL"))
    quiet = alter(client, LOGGER, "0", ("root", SET, "FATAL"))
    harness.broker.security.audit.login(client.connection.identity, "PLAIN", "")

    assert (hidden.error_code, quiet.error_code) == (ErrorCode.INVALID_CONFIG, 0)
    assert '"event": "login"' in caplog.text


@pytest.mark.parametrize(
    ("name", "change", "code"),
    [
        ("0", ("root", SET, "LOUD"), ErrorCode.INVALID_CONFIG),
        ("0", ("nobody", SET, "INFO"), ErrorCode.INVALID_CONFIG),
        ("0", ("root", DELETE, None), ErrorCode.INVALID_REQUEST),
        ("0", ("root", SET, None), ErrorCode.INVALID_REQUEST),
        ("0", ("root", APPEND, "INFO"), ErrorCode.INVALID_REQUEST),
        ("7", ("root", SET, "INFO"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_level_that_cannot_be_is_refused(
    harness: Any, name: str, change: tuple[str, int, str | None], code: int
) -> None:
    assert alter(harness.client(), LOGGER, name, change).error_code == code


def test_topic_settings_without_effect_say_so() -> None:
    without = {
        "compression.type", "compression.gzip.level", "compression.lz4.level",
        "compression.zstd.level", "flush.messages", "flush.ms", "min.insync.replicas",
        "unclean.leader.election.enable", "leader.replication.throttled.replicas",
        "follower.replication.throttled.replicas", "local.retention.ms", "local.retention.bytes",
        "remote.log.copy.disable", "remote.log.delete.on.disable", "preallocate",
    }  # fmt: skip

    docs = {setting.name: setting.doc for setting in TOPIC_SETTINGS}

    assert {name for name, doc in docs.items() if "no effect" in doc} >= without


def test_more_replicas_than_there_are_are_not_waited_for(harness: Any) -> None:
    """As in Kafka, the effective min.insync.replicas is at most the number of replicas."""
    harness.topic("a", min_insync_replicas="2")

    assert harness.client().produce("a", harness.batch(b"x"), acks=-1).error_code == 0
