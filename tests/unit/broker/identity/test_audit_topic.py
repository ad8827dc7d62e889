"""The topic of the audit log: what is in it, what is bounded, and what is lost."""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from duolog.broker.identity.audit_topic import BATCH_BYTES_MAX, HELD_BYTES_MAX
from duolog.core.errors import ConfigError
from duolog.record.batch import whole_batches
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.identity.principal import Identity
from duolog.security.logins.audit import TEXT_MAX
from duolog.security.logins.inner import INNER_LISTENER, INNER_USER, InnerLogin
from unit.broker.identity.test_logins import ALICE, RIGHT, gated_broker, logged_in, plain

AUDIT = "audit"
WRONG = "Hush-Hush"


@pytest.fixture
def audited(open_harness: Any) -> Any:
    """A broker whose audit log has a topic, with users, and logins that are required."""
    harness = gated_broker(open_harness, audit_log_topic=AUDIT)
    harness.broker.security.start()
    return harness


def lines(harness: Any) -> list[dict[str, Any]]:
    return [json.loads(record.value) for record in harness.broker.replay_internal(AUDIT, 0)]


def wait_for(harness: Any, count: int) -> list[dict[str, Any]]:
    """Turn the loop until the topic has as many lines."""
    harness.turn_until(lambda: len(lines(harness)) >= count)
    return lines(harness)


def test_the_topic_has_the_lines_of_the_log_without_secrets(
    audited: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    plain(audited.client())
    plain(audited.client(), typed=WRONG)

    before = ["changed", "changed"]  # Of the users alice and carol.
    found = wait_for(audited, 4)
    assert [line["event"] for line in found] == [*before, "login", "login"]
    assert [line.get("outcome") for line in found[2:]] == ["success", "failure"]
    assert {line["principal"] for line in found[2:]} == {str(ALICE)}
    logged = [row.getMessage() for row in caplog.records if row.name == "duolog.audit"]
    assert [json.loads(line) for line in logged] == found[2:]
    assert WRONG not in str(found)
    assert RIGHT not in str(found)


def test_logins_of_the_brokers_own_servers_are_in_it_only_if_they_fail(audited: Any) -> None:
    audited.broker.security.admit(InnerLogin(RIGHT))
    audited.broker.entrances.gated.add(INNER_LISTENER)
    for typed in (RIGHT, WRONG):
        client = audited.client()
        client.connection.listener = INNER_LISTENER
        plain(client, INNER_USER, typed)
    plain(audited.client())

    found = [line for line in wait_for(audited, 4) if line["event"] == "login"]

    assert [(line["listener"], line["outcome"]) for line in found] == [
        (INNER_LISTENER, "failure"),
        ("", "success"),
    ]


def test_lines_of_the_last_requests_are_there_after_a_restart(
    audited: Any, open_harness: Any
) -> None:
    plain(audited.client())
    audited.broker.security.audit.login(audited.client().connection.identity, "PLAIN", "", "late")

    audited.stop()
    again = open_harness(audit_log_topic=AUDIT)

    assert lines(again)[-1]["reason"] == "late"


def test_texts_that_a_stranger_chooses_are_cut(audited: Any) -> None:
    client = Identity(ALICE, "10.0.0.7")
    audited.broker.security.audit.denied(client, Operation.READ, ResourceType.TOPIC, "m" * 2000)

    [line] = [line for line in wait_for(audited, 3) if line["event"] == "denied"]
    assert len(line["resource_name"]) == TEXT_MAX + 1


@pytest.fixture
def held(audited: Any, monkeypatch: pytest.MonkeyPatch) -> list[Callable[[Any], None]]:
    """The callbacks of appends whose batches reach the disk when a test says so."""
    wait_for(audited, 2)
    callbacks: list[Callable[[Any], None]] = []
    append = audited.broker.append_internal

    def append_and_hold(topic: str, partition: int, batch: bytearray, then: Any) -> None:
        append(topic, partition, batch, lambda error: callbacks.append(lambda e: then(e or error)))

    monkeypatch.setattr(audited.broker, "append_internal", append_and_hold)
    return callbacks


def fill(harness: Any, bytes_: int) -> int:
    """Write lines of about this size together, each of another address; return their number."""
    audit, client = harness.broker.security.audit, harness.client().connection.identity
    count = bytes_ // (TEXT_MAX + 1)
    for number in range(count):
        host = f"10.0.{number // 256}.{number % 256}"
        audit.login(client._replace(host=host), "PLAIN", "", "x" * TEXT_MAX)
    return count


def test_a_slow_disk_costs_bounded_memory_and_no_client_waits(
    audited: Any, held: list[Callable[[Any], None]], caplog: pytest.LogCaptureFixture
) -> None:
    topic = audited.broker.security.audit.topic

    written = fill(audited, 2 * HELD_BYTES_MAX)
    client = audited.client()
    plain(client)
    assert logged_in(client)

    assert topic.lost > written // 2
    assert topic._held_bytes <= HELD_BYTES_MAX  # noqa: SLF001
    errors = [row.getMessage() for row in caplog.records if row.levelno == logging.ERROR]
    assert errors == ["audit lines are not in the topic"]
    del held


def test_a_gap_is_noted_in_the_topic(audited: Any, held: list[Callable[[Any], None]]) -> None:
    topic = audited.broker.security.audit.topic
    written = fill(audited, 2 * HELD_BYTES_MAX)
    lost = topic.lost

    audited.turn_until(lambda: len(held) >= HELD_BYTES_MAX // (2 * BATCH_BYTES_MAX))
    for durable in list(held):
        durable(None)
    fill(audited, 2 * TEXT_MAX)

    found = wait_for(audited, 2 + written - lost + 2)
    assert {"event": "lost", "lines": lost} in found
    assert topic.lost == lost


def test_batches_are_small(audited: Any) -> None:
    fill(audited, HELD_BYTES_MAX // 2)
    audited.turn()

    log = audited.broker.log(AUDIT, 0)
    data = log.read_bytes(0, HELD_BYTES_MAX * 2, up_to_offset=log.log_end_offset)
    sizes = [len(batch) for _, batch in whole_batches(data)]
    assert len(sizes) > 4
    assert max(sizes) < 2 * BATCH_BYTES_MAX


def test_without_the_topic_clients_are_served_and_lines_are_counted(
    audited: Any, caplog: pytest.LogCaptureFixture
) -> None:
    wait_for(audited, 2)
    audited.broker.delete_topic(AUDIT)

    client = audited.client()
    plain(client)

    assert logged_in(client)
    audited.turn_until(lambda: audited.broker.security.audit.topic.lost)
    assert "audit lines are not in the topic" in caplog.text


def test_a_disk_that_fails_costs_the_lines_and_no_client(
    audited: Any, held: list[Callable[[Any], None]]
) -> None:
    topic = audited.broker.security.audit.topic
    plain(audited.client())
    audited.turn_until(lambda: held)

    for failed in list(held):
        failed(OSError("no space"))

    assert topic.lost == 1
    assert topic._held_bytes == 0  # noqa: SLF001


@pytest.mark.parametrize("name", ["__security", "__consumer_offsets", "a/b", "compacted"])
def test_a_topic_that_would_not_keep_the_lines_is_refused_at_the_start(
    open_harness: Any, name: str
) -> None:
    harness = open_harness(audit_log_topic=name)
    harness.topic("compacted", cleanup_policy="compact")

    with pytest.raises(ConfigError) as caught:
        harness.broker.security.start()

    assert caught.value.name == "audit.log.topic"
    assert name in caught.value.message


def test_metrics_count_lost_lines(audited: Any) -> None:
    from duolog.broker.metrics.security import security_lines  # noqa: PLC0415

    audited.broker.security.audit.topic.lost = 7

    text = "".join(security_lines(audited.broker))
    assert "duolog_audit_lines_lost_total 7" in text


def test_settings_of_the_broker_neither_empty_nor_block_the_topics_of_security(
    audited: Any,
) -> None:
    """They need ALTER_CONFIGS on the cluster only; rights and the audit log need more."""
    changed = {"log.retention.ms": "1", "log.retention.bytes": "1", "message.max.bytes": "1"}
    audited.broker.settings.change(default=changed, own={})
    topics = audited.broker.topics

    found = {name: topics.configs.effective(topics.find(name).configs)
             for name in (AUDIT, "__security")}  # fmt: skip

    assert {texts["max.message.bytes"] for texts in found.values()} == {str(1 << 20)}
    assert (found[AUDIT]["retention.ms"], found[AUDIT]["retention.bytes"]) == (
        str(7 * 24 * 3600 * 1000),
        str(1 << 30),
    )
    assert found["__security"]["cleanup.policy"] == "compact"
