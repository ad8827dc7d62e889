from pathlib import Path

import pytest

from duolog.core.errors import QueryError
from duolog.engine.errors import FileSystemFailed
from duolog.engine.spark.failures import Cause, query_failed, to_query_failed


def test_the_innermost_cause_is_reported_with_the_most_specific_error_class() -> None:
    error = query_failed(
        "flights",
        [
            Cause("StreamingQueryException", "[STREAM_FAILED] Query failed", "STREAM_FAILED"),
            Cause("SparkException", "Job aborted", ""),
            Cause("SinkException", 'cannot write to topic "x": too large\n at …', ""),
        ],
    )

    assert error.message == (
        'application "flights" failed: SinkException: cannot write to topic "x": too large'
    )
    assert error.kind.error_class == "STREAM_FAILED"
    assert error.query_id == "flights"


def test_a_failed_record_is_reported_by_its_position_and_not_by_its_cause() -> None:
    error = query_failed(
        "flights",
        [
            Cause("StreamingQueryException", "[STREAM_FAILED] Query failed", "STREAM_FAILED"),
            Cause("RecordFailedException", 'cannot process the record of topic "t": too wide', ""),
            Cause("ArithmeticException", "too wide", ""),
        ],
    )

    assert error.message == (
        'application "flights" failed: cannot process the record of topic "t": too wide'
    )
    assert "processing.exception.handler=log_and_continue" in error.hint


def test_lost_records_have_a_hint() -> None:
    error = query_failed(
        "flights",
        [
            Cause("StreamingQueryException", "failed", "STREAM_FAILED"),
            Cause("KafkaIllegalStateException", "gone", "KAFKA_DATA_LOSS.ADDED_PARTITION"),
        ],
    )

    assert error.kind.error_class == "KAFKA_DATA_LOSS.ADDED_PARTITION"
    assert "Run `duolog state reset APPLICATION`" in error.hint


def test_a_file_that_could_not_be_synced_is_for_another_process_and_not_for_another_try() -> None:
    reported = "cannot sync /data/spark/commits/7: No space left on device"

    error = query_failed("flights", [Cause("NotSyncedException", reported, "")])

    assert error.message == f'application "flights" {reported}'
    assert "Replace the disk, end the process, then start again" in error.hint
    assert not error.kind.may_pass


def test_a_failure_without_causes_is_still_an_error_of_ours() -> None:
    assert query_failed("q", []).message == 'application "q" failed: unknown failure'


def test_a_sentence_that_spark_wraps_is_reported_completely() -> None:
    """The sentence used to be cut at its semicolon."""
    said = (
        "[KAFKA_DATA_LOSS.X] Some data may have been lost because they are not available;\n"
        "either the data was aged out by Kafka\n"
        "If you don't want your query to fail, set the source option failOnDataLoss to false.\n"
        "Reason: Partition flights-0's offset was changed from 100 to 20.\n"
        "\tat org.apache.spark.Somewhere"
    )

    error = query_failed("q", [Cause("KafkaIllegalStateException", said, "KAFKA_DATA_LOSS.X")])

    assert error.message == (
        'application "q" failed: KafkaIllegalStateException: [KAFKA_DATA_LOSS.X] Some data may have '
        "been lost because they are not available; either the data was aged out by Kafka "
        "Reason: Partition flights-0's offset was changed from 100 to 20."
    )


def test_a_checkpoint_with_two_writers_has_a_hint() -> None:
    said = "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log."

    error = query_failed("q", [Cause("SparkException", said, "CONCURRENT_STREAM_LOG_UPDATE")])

    assert error.message == 'application "q" failed: another process writes to its checkpoint'
    assert error.hint.startswith("This process no longer owns the checkpoint.")


def test_errors_of_the_engine_name_its_log_and_others_do_not() -> None:
    log = Path("/data/engine.log")

    assert to_query_failed(ConnectionRefusedError("gone"), "flights", log).detail == (
        "The engine's log is /data/engine.log."
    )
    assert to_query_failed(QueryError("no broker answers"), "flights", log).detail == ""


@pytest.mark.parametrize(
    ("message", "detail"),
    [
        (
            "cannot process the record of topic x, offset 2 at filter-2: / by 0",
            "filter-2 is written at app.py:7. ",
        ),
        ("map-values-12-carry: cannot compile [v0]", "map-values-12 is written at app.py:9. "),
        ("filter-22: cannot compile [v0]", ""),
        ('cannot write to topic "filter-2": too large', ""),
    ],
)
def test_a_failure_at_a_node_names_the_line_where_it_was_written(message: str, detail: str) -> None:
    places = {"filter-2": "app.py:7", "map-values-12": "app.py:9"}

    failed = to_query_failed(RuntimeError(message), "q", places=places)

    assert failed.detail == detail


def test_a_kernel_of_other_sources_is_named_with_what_to_do() -> None:
    """UnrecognizedPropertyException with a name of a field was all that was said."""
    said = 'Unrecognized field "ttl" (class org.duolog.kernel.spec.Spec$Node)'

    error = query_failed("q", [Cause("UnrecognizedPropertyException", said, "")])

    assert "the kernel jar does not match this Duolog" in error.message
    assert '"ttl"' in error.message
    assert "scripts/install" in error.hint


@pytest.mark.parametrize(
    "said",
    [
        "Lost task 3.0 in stage 2.0 (TID 11): ExecutorLostFailure (executor 0 exited) Reason: code 137",
        (
            "[CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT] Cannot run the pipelined stage group: it needs 9 concurrent task "
            "slots to run all its stages together, but only 8 are currently free."
        ),
        "Lost task 1.0 in stage 2.0: java.io.IOException: Failed to connect to /127.0.0.1:1",
        "Job 3 cancelled because SparkContext was shut down",
    ],
)
def test_a_lost_executor_does_not_end_a_query_for_good(said: str) -> None:
    """In real time its tasks are not tried again by Spark."""
    failed = query_failed(
        "q",
        [
            Cause("StreamingQueryException", "failed", "STREAM_FAILED"),
            Cause("SparkException", said, ""),
        ],
    )

    assert failed.kind.may_pass
    assert not failed.kind.out_of_memory


def test_a_registry_that_does_not_answer_may_return() -> None:
    failed = query_failed(
        "q",
        [
            Cause("SparkException", "Job aborted", ""),
            Cause("RegistryAwayException", "the schema registry does not answer: {}", ""),
        ],
    )

    assert failed.kind.may_pass
    assert "the schema registry does not answer" in failed.message
    assert "no record is lost" in failed.hint


def test_a_registry_that_refuses_the_user_does_so_for_good() -> None:
    failed = query_failed(
        "q",
        [
            Cause("SparkException", "Job aborted", ""),
            Cause("RegistryLoginException", "the schema registry refuses the user", ""),
        ],
    )

    assert not failed.kind.may_pass
    assert "the schema registry refuses the user" in failed.message
    assert "ksql.schema.registry.basic.auth.user.info" in failed.hint
    assert "DUOLOG_SCHEMA_REGISTRY_USER_INFO" in failed.hint


def test_a_record_that_always_fails_does_not_count_as_a_lost_executor() -> None:
    causes = [
        Cause("SparkException", "ExecutorLostFailure", ""),
        Cause("RecordFailedException", "cannot read it", ""),
    ]

    assert not query_failed("q", causes).kind.may_pass


@pytest.mark.parametrize(
    ("name", "error_class"),
    [
        ("SparkException", "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED"),
        ("FileNotFoundException", "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE"),
        ("StateDataSourceReadOperatorMetadataFailure", "STDS_FAILED_TO_READ_OPERATOR_METADATA"),
        ("LZ4Exception", "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"),
    ],
)
def test_damaged_state_has_a_hint(name: str, error_class: str) -> None:
    """The error used to contain only the message of Spark or lz4: `Error decoding offset 181 of input buffer`."""
    error = query_failed("counted", [Cause(name, "Error decoding", error_class)])

    assert error.hint.startswith("A file of the checkpoint is damaged.")


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        (
            "Call From vm/127.0.0.1 to name:8020 failed on connection exception: …",
            "file system of the checkpoint is running",
        ),
        (
            "cannot write hdfs://name:8020/x: Cannot create file/x. Name node is in safe mode.",
            "left safe mode",
        ),
    ],
)
def test_a_file_system_that_is_temporarily_unreachable_does_not_end_a_query_for_good(
    said: str, hint: str
) -> None:
    error = query_failed(
        "flights", [Cause("StreamingQueryException", "failed", ""), Cause("IOException", said, "")]
    )

    assert error.kind.may_pass
    assert hint in error.hint


def test_an_unreachable_file_system_found_by_python_may_pass_too() -> None:
    away = FileSystemFailed("away", path="hdfs://h/x", number=113, why="no route", hint="")

    assert to_query_failed(away, "flights").kind.may_pass
    assert not to_query_failed(QueryError("another"), "flights").kind.may_pass
