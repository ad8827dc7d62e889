from duolog.engine.failures import Cause, query_failed


def test_the_innermost_cause_is_told_and_the_telling_error_class_kept() -> None:
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
    assert error.error_class == "STREAM_FAILED"
    assert error.query_id == "flights"


def test_lost_records_come_with_what_to_do() -> None:
    error = query_failed(
        "flights",
        [
            Cause("StreamingQueryException", "failed", "STREAM_FAILED"),
            Cause("KafkaIllegalStateException", "gone", "KAFKA_DATA_LOSS.ADDED_PARTITION"),
        ],
    )

    assert error.error_class == "KAFKA_DATA_LOSS.ADDED_PARTITION"
    assert "Remove the application's checkpoint" in error.hint


def test_a_failure_without_causes_is_still_an_error_of_ours() -> None:
    assert query_failed("q", []).message == 'application "q" failed: unknown failure'
