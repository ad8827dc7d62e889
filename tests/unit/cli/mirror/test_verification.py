import pytest

from duolog.cli.errors import MirrorConflict
from duolog.cli.mirror import verification
from duolog.cli.mirror.foreign_records import ensure_no_records
from duolog.cli.mirror.progress import Progress, copied_entry
from duolog.cli.mirror.verification import verify
from duolog.core.errors import KafkaError
from unit.cli.mirror.fake_kafka import FakeKafka, Log, Topic

PLACE = ("orders", 0)


@pytest.fixture
def progress() -> Progress:
    """Ten copied records; nothing is left to compare, so that no consumer is needed."""
    found = Progress()
    found.replay(copied_entry(PLACE, 0, [0, 10], records=0, checksum=0, last=0))
    found.partition(PLACE).checked_to = 100
    return found


def test_records_without_their_marker_are_waited_for(
    progress: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Apache Kafka answers a commit before it writes the markers."""
    kafka = FakeKafka(orders=Topic("id", [Log(0, 0, 10)]))

    def write_marker(_: float) -> None:
        kafka.topics["orders"].logs[0] = Log(0, 11)

    monkeypatch.setattr("time.sleep", write_marker)

    assert verify(*kafka.side, progress, [PLACE]) == {PLACE: 11}


def test_a_transaction_that_does_not_end_is_not_reported_as_a_difference(
    progress: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "_MARKERS_S", -1)
    kafka = FakeKafka(orders=Topic("id", [Log(0, 10)]))

    with pytest.raises(KafkaError, match="still has an open transaction") as caught:
        verify(*kafka.side, progress, [PLACE])

    assert caught.value.retriable


def test_an_open_transaction_between_copied_records_is_another_programs() -> None:
    kafka = FakeKafka(orders=Topic("id", [Log(0, 7, 12)]))

    with pytest.raises(MirrorConflict, match="open transaction at offset 7"):
        ensure_no_records(*kafka.side, {PLACE: (5, 9)})
