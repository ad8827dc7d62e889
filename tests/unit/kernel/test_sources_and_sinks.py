"""Records are read, ordered, held and written in the right order and form: in Java, without Spark."""

from pathlib import Path

import pytest

from duolog.engine.spark.failures import Cause, query_failed
from duolog.testing import Client, EmbeddedCluster
from unit.kernel.java_program import run_java

pytestmark = pytest.mark.timeout(120)
CASES = 1000


def test_a_record_comes_out_of_an_envelope_as_it_went_in() -> None:
    assert run_java("EnvelopeBytes") == ["0"]


def test_a_store_has_the_rows_that_sparks_own_maps_have() -> None:
    """Either of them can then read a checkpoint of the other."""
    assert run_java("BytesMapRows") == ["0"]


def test_a_restore_writes_the_last_of_each_key_in_rocksdbs_order() -> None:
    wrong, unordered, spared, most, left = map(int, run_java("SortedWritesOrder"))

    assert wrong == 0
    assert unordered == 0
    assert spared > 0
    assert 4_000_000 < most < 6_000_000, "together they may hold 5 MB"
    assert left == 0


def test_micro_batches_of_several_topics_end_at_one_time() -> None:
    *wrong, batches = run_java("BoundedMicroBatches", CASES, timeout_s=60)

    assert wrong == []
    assert int(batches) > CASES


def test_a_record_waits_for_what_the_tables_have_and_for_nothing_else() -> None:
    """Patience lasts ten seconds each time that it is not settled what a table still has."""
    assert run_java("TableGateSteps") == [
        "read",
        "unasked",
        "read-again",
        "arrived",
        "settled",
        "ended",
        "still-ended",
        "began-there",
        "closed",
    ]


def test_records_present_at_start_are_processed_by_timestamp() -> None:
    """Each partition was read at its own pace, and windows dropped records of the slower one."""
    assert run_java("StartOrderSteps") == [
        "sorted",
        "2001",
        "over",
        "waits-for-last",
        "looked-again",
        "read-beyond",
        "ended",
        "next-epoch",
        "no-record",
        "gone-on",
        "closed",
    ]


def test_an_owner_that_was_paused_and_replaced_writes_nothing_to_a_sink(tmp_path: Path) -> None:
    (tmp_path / "spark").mkdir()

    assert run_java("SinkAfterTakeover", tmp_path) == ["taken", "taken", "lost"]


def test_a_task_that_outlives_its_query_writes_to_no_later_transaction(
    tmp_path: Path,
) -> None:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        reported = run_java("SinkAfterNextStart", cluster.bootstrap_servers, tmp_path)

    assert reported == ["open", "over", "open"]


def test_a_task_ends_when_functions_were_called_with_all_that_it_handed_over() -> None:
    """20,000 records of two tasks: more than there is room for."""
    assert run_java("FunctionCallsOrder", 10_000) == ["0", "waited", "dead-letter", "bounded"]


def test_dead_letters_name_exceptions_by_the_first_names_of_their_classes() -> None:
    """A reader of dead letters compares the header; the classes have been renamed and moved since."""
    assert run_java("DeadLetterNames") == [
        "org.duolog.kernel.CallFailed",
        "org.duolog.kernel.Misplaced",
        "org.duolog.kernel.RecordException",
        "org.duolog.kernel.RecordFailed",
        "org.duolog.kernel.StoreFull",
        "java.lang.ArithmeticException",
    ]


def test_a_record_for_a_partition_that_is_not_there_fails_by_its_name_and_is_not_tried_again() -> (
    None
):
    """The producer would wait a minute for the partition to come, and the query be started again and again."""
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("out", partitions=3)

        reported = " ".join(run_java("SinkToMissingPartition", cluster.bootstrap_servers))

        (written,) = client.read("out")
    assert reported == (
        'cannot write a record at topic "out": InvalidPartitionsException: no partition 99, but 0 to 2'
    )
    assert (written.key_text, written.partition) == ("to 0", 0)
    failed = query_failed("a", [Cause("RecordFailedException", reported, "")])
    assert not failed.kind.may_pass
    assert "production.exception.handler=log_and_continue" in failed.hint


def test_a_record_in_a_refused_batch_fails_with_the_cause_of_the_refusal() -> None:
    """Kafka's producer only says that it was part of a batch with a wrong record."""
    with EmbeddedCluster() as cluster:
        config = {"message.timestamp.after.max.ms": "3600000"}
        Client(cluster.bootstrap_servers).create_topic("out", configs=config)

        reported = " ".join(run_java("SinkToRefusingTopic", cluster.bootstrap_servers))

    assert reported.startswith('cannot write to topic "out": ')
    assert "message.timestamp.after.max.ms" in reported
    assert "part of a batch" not in reported


def test_without_a_shuffle_each_task_has_the_same_records_in_the_same_order() -> None:
    *wrong, tasks = run_java("DirectOrder", 2000)

    assert wrong == []
    assert int(tasks) > 3000
