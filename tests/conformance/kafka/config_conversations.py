"""Conversations about configs of topics, brokers, groups, client metrics and loggers."""

from typing import Any, Final

from conformance.kafka.wire_client import WireClient
from conformance.kafka.wire_helpers import (
    BROKER,
    DESCRIBE_CONFIGS,
    INCREMENTAL_ALTER_CONFIGS,
    PRODUCE,
    TOPIC,
    batch,
    create,
    create_and_wait,
    new_topic,
    plain,
)

ALTER_CONFIGS: Final = 33
LOGGER, METRICS, GROUP = 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)

Change = tuple[str, int, str | None]


def described(client: WireClient, kind: int, name: str, *keys: str, full: bool = False) -> Any:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys or None}
    answer = client.ask(
        DESCRIBE_CONFIGS,
        4,
        resources=[resource],
        include_synonyms=full,
        include_documentation=full,
    )
    result = plain(answer)["results"][0]
    for row in result["configs"]:
        if full:
            assert row["documentation"], row["name"]
        row.pop("documentation")
    result["configs"].sort(key=lambda row: row["name"])
    return result


def altered(
    client: WireClient,
    kind: int,
    name: str,
    *changes: Change,
    validate_only: bool = False,
    version: int = 1,
) -> Any:
    resource = {
        "resource_type": kind,
        "resource_name": name,
        "configs": [
            {"name": key, "config_operation": operation, "value": value}
            for key, operation, value in changes
        ],
    }
    answer = client.ask(
        INCREMENTAL_ALTER_CONFIGS, version, resources=[resource], validate_only=validate_only
    )
    code = plain(answer)["responses"][0]["error_code"]
    client.settle(changed=not (code or validate_only))
    return code


def every_topic_config(client: WireClient) -> Any:
    create_and_wait(client, new_topic("all_default"), new_topic("all_set", retention_ms="5000"))
    default = described(client, TOPIC, "all_default", full=True)
    # Some of the broker's defaults come from properties that only Kafka has (log.roll.hours), and
    # one from a value that Kafka sets for the whole cluster when it is formatted.
    reported = [
        (row["name"], row["value"], row["read_only"], row["is_sensitive"], row["config_type"])
        for row in default["configs"]
    ]
    return reported, described(
        client, TOPIC, "all_set", "retention.ms", "cleanup.policy", full=True
    )


VALUES: Final = {
    "cleanup.policy": ("compact", "delete,compact", "", "compact,", "none", "compact,compact"),
    "compression.type": ("gzip", "zstd", "lz4", "snappy", "uncompressed", "none", "GZIP", ""),
    "compression.gzip.level": ("-1", "1", "9", "0", "10", "-2"),
    "compression.lz4.level": ("1", "17", "0", "18"),
    "compression.zstd.level": ("-131072", "22", "-131073", "23"),
    "delete.retention.ms": ("0", "-1"),
    "file.delete.delay.ms": ("0", "-1"),
    "flush.messages": ("1", "0"),
    "flush.ms": ("0", "-1"),
    "follower.replication.throttled.replicas": ("*", "", "0:1,1:1", "0:1:2", "x", "0:1,*"),
    "leader.replication.throttled.replicas": ("*", "0:0", "nope"),
    "index.interval.bytes": ("0", "-1"),
    "local.retention.bytes": ("-2", "-3", "5"),
    "local.retention.ms": ("-2", "-3", "5"),
    "max.compaction.lag.ms": ("1", "0"),
    "max.message.bytes": ("0", "-1", "2147483648"),
    "message.timestamp.after.max.ms": ("0", "-1", "9223372036854775807"),
    "message.timestamp.before.max.ms": ("0", "-1", "9223372036854775808"),
    "message.timestamp.type": ("LogAppendTime", "logappendtime"),
    "min.cleanable.dirty.ratio": ("0", "1", "1.1", "-0.1", "x", "0.25"),
    "min.compaction.lag.ms": ("0", "-1"),
    "min.insync.replicas": ("1", "2", "0"),
    "preallocate": ("true", "FALSE", "1"),
    "remote.storage.enable": ("false", "x"),
    "remote.log.copy.disable": ("false", "x"),
    "remote.log.delete.on.disable": ("false", "x"),
    "retention.bytes": ("-1", "-2", "0"),
    "retention.ms": ("-1", "-2", "0", "1.5"),
    "segment.bytes": ("1048576", "1048575", "14", "2147483648"),
    "segment.index.bytes": ("4", "3"),
    "segment.jitter.ms": ("0", "-1"),
    "segment.ms": ("1", "0"),
    "unclean.leader.election.enable": ("true", "TRUE", "yes"),
    "message.format.version": ("3.0",),
    "message.downconversion.enable": ("true",),
    "message.timestamp.difference.max.ms": ("1",),
    "log.retention.ms": ("1",),
}
TOGETHER: Final = (
    {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
    {"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "5"},
    {"retention.ms": "10", "local.retention.ms": "20"},
    {"retention.bytes": "10", "local.retention.bytes": "20"},
    {"remote.storage.enable": "true"},
    {"remote.log.copy.disable": "true"},
    {"remote.log.delete.on.disable": "true"},
    {"cleanup.policy": "compact", "segment.ms": "5", "retention.ms": "7"},
)


def values_of_topic_configs(client: WireClient) -> Any:
    """Validate the configs of a topic without creating it."""

    def code(configs: dict[str, str]) -> int:
        rows = [{"name": key, "value": value} for key, value in configs.items()]
        topic = {**new_topic("valued"), "configs": rows}
        return int(create(client, topic, validate_only=True).topics[0].error_code)

    return [
        (name, [(value, code({name: value})) for value in values])
        for name, values in VALUES.items()
    ], [(sorted(configs), code(configs)) for configs in TOGETHER]


def values_of_altered_topic_configs(client: WireClient) -> Any:
    create_and_wait(client, new_topic("revalued"))
    return [
        (name, value, altered(client, TOPIC, "revalued", (name, SET, value), validate_only=True))
        for name, value in (
            ("min.insync.replicas", "5"),
            ("compression.type", "none"),
            ("segment.bytes", "14"),
            ("leader.replication.throttled.replicas", "0:1"),
            ("remote.storage.enable", "true"),
        )
    ]


def lists_of_configs(client: WireClient) -> Any:
    create_and_wait(client, new_topic("listed"))
    name = "leader.replication.throttled.replicas"

    def alter(*changes: Change, validate_only: bool = False) -> Any:
        code = altered(client, TOPIC, "listed", *changes, validate_only=validate_only)
        return code, [row["value"] for row in described(client, TOPIC, "listed", name)["configs"]]

    return [
        alter((name, APPEND, "0:1")),
        alter((name, APPEND, "0:2,0:1")),
        alter((name, APPEND, "0:3"), validate_only=True),
        alter((name, SUBTRACT, "0:1,0:9")),
        alter((name, SUBTRACT, "0:2")),
        alter((name, APPEND, "")),
        alter((name, DELETE, None)),
        alter((name, SUBTRACT, "0:2")),
        alter((name, APPEND, "0:1"), ("retention.ms", APPEND, "5")),
    ]


def several_resources(client: WireClient) -> Any:
    create_and_wait(client, new_topic("many_a"), new_topic("many_b"))

    def resource(kind: int, name: str, value: str) -> Any:
        change = {"name": "retention.ms", "config_operation": SET, "value": value}
        return {"resource_type": kind, "resource_name": name, "configs": [change]}

    resources = [
        resource(TOPIC, "many_a", "5"),
        resource(TOPIC, "many_b", "x"),
        resource(TOPIC, "nope", "5"),
        resource(99, "many_a", "5"),
        resource(TOPIC, "many_c", "5"),
        resource(TOPIC, "many_c", "6"),
    ]
    answer = client.ask(INCREMENTAL_ALTER_CONFIGS, 1, resources=resources, validate_only=False)
    client.settle()
    return plain(answer), described(client, TOPIC, "many_a", "retention.ms")


def replaced_configs(client: WireClient) -> Any:
    create_and_wait(client, new_topic("replaced", retention_ms="5", segment_ms="7"))

    def alter(
        kind: int,
        name: str,
        *configs: tuple[str, str | None],
        version: int = 2,
        validate_only: bool = False,
    ) -> Any:
        resource = {
            "resource_type": kind,
            "resource_name": name,
            "configs": [{"name": key, "value": value} for key, value in configs],
        }
        answer = client.ask(
            ALTER_CONFIGS, version, resources=[resource], validate_only=validate_only
        )
        client.settle(changed=not (answer.responses[0].error_code or validate_only))
        now = described(client, TOPIC, "replaced", "retention.ms", "segment.ms", "flush.ms")
        return plain(answer), [(row["value"], row["config_source"]) for row in now["configs"]]

    return [
        *(
            alter(TOPIC, "replaced", ("retention.ms", str(version)), version=version)
            for version in range(3)
        ),
        alter(TOPIC, "replaced", ("flush.ms", "6"), validate_only=True),
        alter(TOPIC, "replaced", ("flush.ms", "6"), ("nope", "1")),
        alter(TOPIC, "replaced", ("flush.ms", "x")),
        alter(TOPIC, "replaced", ("flush.ms", None)),
        alter(TOPIC, "replaced", ("flush.ms", "6"), ("flush.ms", "7")),
        alter(TOPIC, "replaced"),
        alter(TOPIC, "nope", ("flush.ms", "6")),
        alter(TOPIC, "", ("flush.ms", "6")),
        alter(BROKER, "9", ("log.retention.ms", "6")),
        alter(LOGGER, "1", ("root", "INFO")),
        alter(99, "x", ("a", "b")),
    ]


def broker_configs(client: WireClient) -> Any:
    def alter(name: str, *changes: Change, validate_only: bool = False) -> Any:
        return altered(client, BROKER, name, *changes, validate_only=validate_only)

    def rows(name: str, *keys: str) -> Any:
        return [
            (
                row["name"],
                row["value"],
                row["config_source"],
                row["read_only"],
                row["config_type"],
                [(s["name"], s["value"], s["source"]) for s in row["synonyms"]],
            )
            for row in described(client, BROKER, name, *keys, full=True)["configs"]
            if row["name"] in keys
        ]

    create_and_wait(client, new_topic("follows"))
    size, segment = "message.max.bytes", "log.segment.bytes"
    return [
        rows("1", size, segment, "log.cleanup.policy", "compression.type", "log.roll.ms"),
        alter("", (size, SET, "2000000")), rows("1", size), rows("", size),
        alter("1", (size, SET, "3000000")), rows("1", size), rows("", size),
        [row["value"] for row in described(client, TOPIC, "follows", "max.message.bytes")["configs"]],
        alter("1", (size, DELETE, None)), rows("1", size),
        described(client, TOPIC, "follows", "max.message.bytes", full=True),
        alter("", (size, SET, "-5")), alter("", (size, SET, "x")), alter("", (size, SET, None)),
        alter("", (size, SET, "7"), validate_only=True), rows("", size),
        alter("", (size, DELETE, None)), rows("1", size), alter("", (size, DELETE, None)),
        alter("", ("node.id", SET, "4")), alter("", ("listeners", SET, "PLAINTEXT://:1")),
        alter("", ("num.partitions", SET, "4")), alter("1", ("log.dirs", SET, "/x")),
        alter("1", ("auto.create.topics.enable", SET, "true")),
        alter("", ("log.cleanup.policy", APPEND, "compact")),
        [row[:2] for row in rows("", "log.cleanup.policy")],
        alter("", ("log.cleanup.policy", SUBTRACT, "compact")),
        alter("", ("log.cleanup.policy", DELETE, None)),
        alter("", (size, APPEND, "5")), alter("", (size, SET, "5"), (size, SET, "6")),
        alter("7", (size, SET, "5")), alter("x", (size, SET, "5")), alter("", (size, 9, "5")),
        alter("", ("log.retention.ms", SET, "86400000")),
        described(client, TOPIC, "follows", "retention.ms"),
        alter("", ("log.retention.ms", DELETE, None)),
    ]  # fmt: skip


def group_configs(client: WireClient) -> Any:
    session, beat = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"

    def alter(name: str, *changes: Change, validate_only: bool = False) -> Any:
        return altered(client, GROUP, name, *changes, validate_only=validate_only)

    return [
        described(client, GROUP, "g_new", session, beat, full=True),
        alter("g_set", (session, SET, "50000")),
        described(client, GROUP, "g_set", session, beat, full=True),
        alter("g_set", (session, SET, "1")),
        alter("g_set", (session, SET, "70000")),
        alter("g_set", (beat, SET, "4999")),
        alter("g_set", (beat, SET, "15001")),
        alter("g_set", (beat, SET, "6000"), validate_only=True),
        alter("g_set", ("nope", SET, "1")),
        alter("g_set", (session, SET, "x")),
        alter("", (session, SET, "50000")),
        described(client, GROUP, "")["error_code"],
        alter("g_set", (session, DELETE, None)),
        described(client, GROUP, "g_set", session),
    ]


def client_metrics_configs(client: WireClient) -> Any:
    def alter(name: str, *changes: Change) -> Any:
        return altered(client, METRICS, name, *changes)

    def resources() -> Any:
        answer = client.ask(74, 0)
        return answer.error_code, [row.resource_name for row in answer.config_resources]

    return [
        described(client, METRICS, "m_new", full=True), resources(),
        alter("m_a", ("metrics", SET, "a.b,c.d"), ("interval.ms", SET, "1000")), resources(),
        described(client, METRICS, "m_a", full=True),
        alter("m_a", ("match", SET, "client_id=x.*,client_software_name=y")),
        alter("m_a", ("match", SET, "nope=x")), alter("m_a", ("match", SET, "client_id=*[")),
        alter("m_a", ("interval.ms", SET, "99")), alter("m_a", ("interval.ms", SET, "3600001")),
        alter("m_a", ("interval.ms", SET, "x")), alter("m_a", ("nope", SET, "x")),
        alter("m_a", ("metrics", APPEND, "e.f")),
        described(client, METRICS, "m_a", "metrics")["configs"],
        alter("", ("metrics", SET, "a")), described(client, METRICS, "")["error_code"],
        alter("m_a", ("metrics", DELETE, None), ("interval.ms", DELETE, None),
              ("match", DELETE, None)),
        resources(),
    ]  # fmt: skip


def logger_configs(client: WireClient) -> Any:
    def alter(name: str, *changes: Change, validate_only: bool = False) -> Any:
        return altered(client, LOGGER, name, *changes, validate_only=validate_only)

    def root() -> Any:
        return [
            {**row, "synonyms": []} for row in described(client, LOGGER, "1", "root")["configs"]
        ]

    before = root()
    level = before[0]["value"]
    return [
        [{**row, "value": "any"} for row in before],
        alter("1", ("root", SET, "ERROR")), root(),
        alter("1", ("root", SET, "INFO"), validate_only=True), root(),
        alter("1", ("root", SET, "LOUD")), alter("1", ("root", SET, "error")),
        alter("1", ("nobody", SET, "INFO")), alter("1", ("root", DELETE, None)),
        alter("1", ("root", APPEND, "INFO")), alter("9", ("root", SET, "INFO")),
        alter("x", ("root", SET, "INFO")), alter("", ("root", SET, "INFO")),
        described(client, LOGGER, "9")["error_code"], described(client, LOGGER, "x")["error_code"],
        described(client, LOGGER, "")["error_code"], alter("1", ("root", SET, level)),
    ]  # fmt: skip


def replicas_that_are_missing(client: WireClient) -> Any:
    create_and_wait(client, new_topic("insync_2", min_insync_replicas="2"), new_topic("insync_1"))

    def produce(topic: str, acks: int, version: int = 9) -> Any:
        data = [{"name": topic, "partition_data": [{"index": 0, "records": batch(b"x")}]}]
        answer = client.ask(PRODUCE, version, acks=acks, timeout=5000, topic_data=data)
        row = answer.responses[0].partition_responses[0]
        return row.error_code, row.base_offset

    return [
        produce("insync_2", -1),
        produce("insync_2", -1, 3),
        produce("insync_2", 1),
        produce("insync_1", -1),
    ]
