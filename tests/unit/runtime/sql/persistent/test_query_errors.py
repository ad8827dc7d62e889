"""Errors of queries as SQL's users see them."""

import time
from pathlib import Path

import pytest

from duolog.core.errors import QueryError
from duolog.engine.errors import FailureKind, QueryFailed, SourceTopicMissing
from duolog.engine.spark.failures import Cause, query_failed
from duolog.ksql.settings import Settings
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.sql.groups.messages import decode_error, encode_error
from duolog.runtime.sql.persistent.query_errors import QueryTrouble, trouble_of

AHEAD = (
    'cannot write offset 0 of topic "given", partition 0 at topic "LATE": '
    "InvalidTimestampException: the time of a record is out of bounds"
)


def failed(message: str, of: str = "RecordFailedException") -> QueryFailed:
    return query_failed("CSAS_LATE_1", [Cause(of, message, "")])


def test_a_result_with_a_time_ahead_has_hints_that_sql_accepts() -> None:
    trouble = trouble_of(failed(AHEAD))

    assert trouble.kind == "USER"
    assert "duolog topics alter LATE --config message.timestamp.after.max.ms=9" in trouble.text
    assert "SET 'ksql.fail.on.production.error'='false'" in trouble.text
    assert "production.exception.handler" not in trouble.text
    Settings().set("ksql.fail.on.production.error", "false")


def test_another_refused_result_can_be_skipped() -> None:
    trouble = trouble_of(failed('cannot write a record at topic "T": RecordTooLargeException: 9'))

    assert "ksql.fail.on.production.error" in trouble.text
    assert "topics alter" not in trouble.text


@pytest.mark.parametrize(
    "message",
    [
        'a transaction cannot leave out a record that topic "LATE" refuses: InvalidTimestampException',
        'cannot write a change of a store to topic "LATE": InvalidTimestampException',
        'cannot write a dead letter to topic "LATE": InvalidTimestampException',
    ],
)
def test_what_cannot_be_skipped_has_no_hint_to_skip_it(message: str) -> None:
    trouble = trouble_of(failed(message))

    assert trouble.kind == "USER"
    assert "topics alter LATE" in trouble.text
    assert "ksql.fail.on" not in trouble.text


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (failed("no right", "TopicAuthorizationException"), "USER"),
        (failed("wrong", "SaslAuthenticationException"), "USER"),
        (failed("gone", "UnknownTopicOrPartitionException"), "USER"),
        (failed("late", "TimeoutException"), "SYSTEM"),
        (failed("heap", "OutOfMemoryError"), "SYSTEM"),
        (failed("odd", "IllegalStateException"), "UNKNOWN"),
        (SourceTopicMissing("no such topic"), "USER"),
        (BrokerUnavailable("no broker"), "SYSTEM"),
        (QueryError("why"), "UNKNOWN"),
        (ValueError("why"), "UNKNOWN"),
        (None, "UNKNOWN"),
    ],
)
def test_errors_are_classified(error: Exception | None, kind: str) -> None:
    before = time.time_ns() // 1_000_000

    trouble = trouble_of(error)

    assert trouble.kind == kind
    assert trouble.at_ms >= before
    assert trouble.text


def test_a_hint_about_state_names_the_directory() -> None:
    error = QueryError("lost", hint="Or `duolog state reset CSAS_LATE_1` starts again.")

    trouble = trouble_of(error, Path("/data/server/default_"))

    assert "`duolog state reset CSAS_LATE_1 --data /data/server/default_` starts" in trouble.text
    assert trouble_of(error).text.count("--data") == 0


def test_the_kind_of_an_error_survives_the_way_from_a_group() -> None:
    kind = FailureKind(by_user=True, error_class="X")
    sent = QueryFailed("it failed", query_id="q", hint="Mend it.", kind=kind)

    received = decode_error(encode_error(sent))

    assert isinstance(received, QueryFailed)
    assert received.kind == kind
    assert trouble_of(received).kind == "USER"


def test_no_trouble_is_empty() -> None:
    assert QueryTrouble().text == ""
