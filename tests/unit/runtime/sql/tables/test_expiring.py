"""Expiry of rows, by the timestamps of a topic."""

from duolog.runtime.sql.tables.expiring import Expiring


def test_a_row_expires_by_the_time_of_its_partition() -> None:
    rows: Expiring[str] = Expiring(10)
    rows.see(0, "a", 5, deleted=False)
    rows.see(1, "b", 5, deleted=False)
    rows.see(0, "c", 14, deleted=False)
    assert list(rows.gone()) == []

    rows.see(0, "c", 15, deleted=False)

    assert list(rows.gone()) == ["a"]
    assert list(rows.gone()) == []


def test_an_updated_or_deleted_row_does_not_expire_by_its_old_time() -> None:
    rows: Expiring[str] = Expiring(10)
    rows.see(0, "a", 5, deleted=False)
    rows.see(0, "b", 5, deleted=False)
    rows.see(0, "a", 9, deleted=False)
    rows.see(0, "b", 16, deleted=True)
    assert list(rows.gone()) == []

    rows.see(0, "c", 19, deleted=False)

    assert list(rows.gone()) == ["a"]


def test_a_row_that_is_too_late_expires_at_once() -> None:
    rows: Expiring[str] = Expiring(10)
    rows.see(0, "a", 30, deleted=False)
    rows.see(0, "b", 20, deleted=False)

    assert list(rows.gone()) == ["b"]
