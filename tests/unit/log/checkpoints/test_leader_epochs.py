from duolog.log import LogManager
from duolog.log.checkpoints.leader_epochs import EpochEnd, LeaderEpochs
from duolog.record import Record, encode_batch
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk


def epochs_of(*pairs: tuple[int, int]) -> LeaderEpochs:
    epochs = LeaderEpochs()
    for epoch, start in pairs:
        epochs.begin(epoch, start)
    return epochs


def test_an_epoch_ends_where_the_next_one_begins() -> None:
    epochs = epochs_of((1, 0), (3, 50), (4, 80))

    assert epochs.end_of(1, 100) == EpochEnd(1, 50)
    assert epochs.end_of(2, 100) == EpochEnd(1, 50)
    assert epochs.end_of(4, 100) == EpochEnd(4, 100)
    assert epochs.end_of(5, 100) == EpochEnd(-1, -1)


def test_an_empty_epoch_is_replaced() -> None:
    assert epochs_of((1, 0), (2, 10), (3, 10)).end_of(2, 20) == EpochEnd(1, 10)


def test_an_epoch_that_began_at_the_end_of_a_log_goes_with_what_was_cut() -> None:
    epochs = epochs_of((1, 0), (2, 10), (3, 20))

    epochs.cut(10)

    assert epochs.latest == 1
    assert epochs.end_of(1, 10) == EpochEnd(1, 10)


def test_epochs_below_the_log_start_are_forgotten() -> None:
    """A reader at an old epoch gets the log start, as in Kafka."""
    epochs = epochs_of((1, 0), (3, 50), (4, 80))

    epochs.advance_to(60)

    assert epochs.end_of(1, 100) == EpochEnd(1, 60)
    assert epochs.end_of(3, 100) == EpochEnd(3, 80)


def test_the_last_epoch_stays_when_all_records_are_deleted() -> None:
    epochs = epochs_of((1, 0), (3, 50))

    epochs.advance_to(90)

    assert epochs.end_of(3, 90) == EpochEnd(3, 90)
    assert epochs.latest == 3


def test_deleted_records_take_their_epochs_with_them_over_a_restart() -> None:
    disk = CrashDisk()
    for _ in range(3):
        manager = LogManager(disk, "/data", FakeClock(), {})
        if manager.topics.get("t") is None:
            manager.topics.create("t", 1)
        log = manager.log("t", 0)
        log.append(memoryview(encode_batch([Record(0, 1000, b"k", b"v")] * 10)))
        log.write_staged()
        log.high_watermark = log.log_end_offset
        manager.close()
    manager = LogManager(disk, "/data", FakeClock(), {})
    log = manager.log("t", 0)
    oldest = log.epoch_of_log_start

    log.advance_log_start(15)

    assert log.offset_for_leader_epoch(oldest).end_offset == 15
    again = LogManager(disk.kill(), "/data", FakeClock(), {}).log("t", 0)
    assert again.offset_for_leader_epoch(oldest).end_offset == 15
    assert again.offset_for_leader_epoch(oldest + 1).end_offset == 20
