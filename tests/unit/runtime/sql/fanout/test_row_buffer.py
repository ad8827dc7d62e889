"""A client's buffer: order, limits, positions."""

import pytest

from duolog.core.errors import DuologError
from duolog.runtime.sql.fanout.errors import ClientTooSlow
from duolog.runtime.sql.fanout.positions import Place
from duolog.runtime.sql.fanout.row_buffer import NOTHING, BufferLimits, Emitted, RowBuffer

_START = Place({0: 0, 1: 0})


def _batch(*marks: tuple[int, int], size: int = 1) -> Emitted:
    return Emitted(list(marks), list(marks), size)


def _buffer(rows_max: int = 100, bytes_max: int = 1000, idle_s_max: float = 10) -> RowBuffer:
    return RowBuffer(BufferLimits(rows_max, bytes_max, idle_s_max), _START)


def test_rows_are_taken_in_order_by_batch() -> None:
    buffer = _buffer()
    buffer.offer(_batch((0, 0), (0, 1)), _START, Place({0: 2, 1: 0}))
    buffer.offer(_batch((1, 0)), Place({0: 2, 1: 0}), Place({0: 2, 1: 1}))

    assert list(buffer.take()) == [(0, 0), (0, 1)]
    assert list(buffer.take()) == [(1, 0)]
    assert list(buffer.take()) == []


def test_the_place_is_after_the_rows_that_were_read() -> None:
    buffer = _buffer()
    buffer.offer(_batch((0, 3), (1, 5), (0, 7)), _START, Place({0: 9, 1: 6}))

    assert buffer.place() == _START, "nothing was read"
    buffer.take()

    assert buffer.place(3) == _START
    assert buffer.place(2) == Place({0: 4, 1: 0})
    assert buffer.place(1) == Place({0: 4, 1: 6})
    assert buffer.place() == Place({0: 9, 1: 6}), "records after the last row are read, too"


def test_the_place_within_a_record_counts_its_rows() -> None:
    buffer = _buffer()
    buffer.offer(_batch((0, 3), (0, 4), (0, 4), (0, 4)), _START, Place({0: 5, 1: 0}))
    buffer.take()

    assert buffer.place(3) == Place({0: 4, 1: 0})
    assert buffer.place(2) == Place({0: 4, 1: 0}, {0: 1})
    assert buffer.place(1) == Place({0: 4, 1: 0}, {0: 2})


def test_rows_that_an_earlier_client_had_of_a_record_count_too() -> None:
    start = Place({0: 4, 1: 0}, {0: 2})
    buffer = RowBuffer(BufferLimits(), start)
    buffer.offer(_batch((1, 1), (0, 4), (0, 4)), start, Place({0: 5, 1: 2}))
    buffer.take()

    assert buffer.place(3) == start
    assert buffer.place(2) == Place({0: 4, 1: 2}, {0: 2})
    assert buffer.place(1) == Place({0: 4, 1: 2}, {0: 3})
    assert buffer.place() == Place({0: 5, 1: 2})


def test_batches_without_rows_move_the_place() -> None:
    buffer = _buffer()
    buffer.offer(NOTHING, _START, Place({0: 7, 1: 0}))
    assert buffer.place() == Place({0: 7, 1: 0})

    buffer.offer(_batch((1, 3)), Place({0: 7, 1: 0}), Place({0: 7, 1: 4}))
    buffer.offer(NOTHING, Place({0: 7, 1: 4}), Place({0: 8, 1: 4}))
    assert buffer.place() == Place({0: 7, 1: 0}), "a row before them was not read yet"
    buffer.take()
    assert buffer.place() == Place({0: 8, 1: 4})


@pytest.mark.parametrize("limits", [{"rows_max": 3}, {"bytes_max": 3}])
def test_a_client_that_does_not_read_is_ended_with_the_number_of_rows(
    limits: dict[str, int],
) -> None:
    buffer = _buffer(**limits)
    for offset in range(3):
        buffer.offer(_batch((0, offset)), Place({0: offset}), Place({0: offset + 1}))
    assert buffer.rows == 3

    buffer.offer(_batch((0, 3)), Place({0: 3}), Place({0: 4}))

    assert buffer.ended
    assert buffer.rows == 0, "the rows are not kept"
    with pytest.raises(ClientTooSlow, match="the client read too slowly: 3 rows waited"):
        buffer.take()
    assert buffer.place() == _START, "the client can continue after what it has read"


def test_a_client_that_reads_keeps_its_query() -> None:
    buffer = _buffer(rows_max=2)
    for offset in range(50):
        buffer.offer(_batch((0, offset)), Place({0: offset}), Place({0: offset + 1}))
        assert list(buffer.take()) == [(0, offset)]


def test_rows_that_nobody_reads_for_the_idle_time_end_the_query() -> None:
    buffer = _buffer(idle_s_max=10)
    buffer.check_idle(1e12)
    assert not buffer.ended, "a client that has read all is not late"

    buffer.offer(_batch((0, 0)), _START, Place({0: 1}))
    buffer.check_idle(0)
    assert not buffer.ended
    buffer.check_idle(1e12)

    with pytest.raises(ClientTooSlow, match="1 row waited"):
        buffer.take()


def test_the_client_is_called_once_until_it_has_read_all() -> None:
    buffer, calls = _buffer(), list[int]()
    buffer.when_ready(lambda: calls.append(1))
    assert calls == []

    buffer.offer(_batch((0, 0)), _START, Place({0: 1}))
    buffer.offer(_batch((0, 1)), Place({0: 1}), Place({0: 2}))
    assert len(calls) == 1

    while buffer.take():
        pass
    buffer.offer(_batch((0, 2)), Place({0: 2}), Place({0: 3}))
    assert len(calls) == 2


def test_the_client_is_called_for_rows_that_wait_and_for_the_end() -> None:
    buffer, calls = _buffer(), list[int]()
    buffer.offer(_batch((0, 0)), _START, Place({0: 1}))
    buffer.when_ready(lambda: calls.append(1))
    assert len(calls) == 1
    while buffer.take():
        pass

    buffer.fail(DuologError("gone"))

    assert len(calls) == 2
    with pytest.raises(DuologError, match="gone"):
        buffer.take()


def test_a_reader_continues_when_half_of_the_buffer_is_free_or_the_client_has_left() -> None:
    buffer, calls = _buffer(rows_max=4), list[int]()
    assert not buffer.when_room(lambda: calls.append(0)), "there is room already"
    for offset in range(3):
        buffer.offer(_batch((0, offset)), Place({0: offset}), Place({0: offset + 1}))

    assert buffer.when_room(lambda: calls.append(1))
    buffer.take()
    assert calls == []
    buffer.take()
    assert calls == [1]

    for offset in range(3, 5):
        buffer.offer(_batch((0, offset)), Place({0: offset}), Place({0: offset + 1}))
    assert buffer.when_room(lambda: calls.append(2))
    buffer.close()
    assert calls == [1, 2]
    assert list(buffer.take()) == []


def test_the_end_by_an_error_lets_the_reader_go() -> None:
    buffer, calls = _buffer(rows_max=2), list[int]()
    buffer.offer(_batch((0, 0)), _START, Place({0: 1}))
    assert buffer.when_room(lambda: calls.append(1))

    buffer.fail(DuologError("gone"))

    assert calls == [1]


def test_a_close_by_another_client_wakes_the_one_that_waits() -> None:
    buffer = _buffer()
    calls: list[int] = []
    buffer.when_ready(lambda: calls.append(1))

    buffer.close()

    assert calls == [1]
    assert list(buffer.take()) == []
