import pytest

from duolog.core.units import GIB, MIB
from duolog.engine.settings import DRIVER_MEMORY_BYTES_DEFAULT
from duolog.ksql.errors import SqlError
from duolog.runtime.sql.groups.limits import SHARED_HEAP_BYTES, GroupLimits, JvmLimits


def test_a_group_has_its_own_limits_then_those_of_all_groups_then_the_defaults() -> None:
    limits = JvmLimits.of_properties(
        {
            "duolog.query.jvm.groups.max": "2",
            "duolog.query.jvm.memory.bytes.max": str(3 * GIB),
            "duolog.query.jvm.stop.timeout.ms": "500",
            "duolog.query.jvm.answer.timeout.ms": "7000",
            "duolog.query.jvm.group.memory.bytes": str(600 * MIB),
            "duolog.query.jvm.group.heavy.memory.bytes": str(2 * GIB),
            "duolog.query.jvm.group.heavy.queries.max": "3",
            "duolog.query.jvm.group.heavy.nice": "10",
            "auto.offset.reset": "earliest",
        }
    )

    assert limits.groups_max == 2
    assert limits.memory_bytes_max == 3 * GIB
    assert (limits.stop_timeout_s, limits.answer_timeout_s) == (0.5, 7.0)
    assert limits.of("heavy") == GroupLimits(2 * GIB, 3, 10)
    assert limits.of("light") == GroupLimits(600 * MIB, 100, 0)
    assert JvmLimits.of_properties({}).of("heavy") == GroupLimits()


def test_the_quarantine_has_the_heap_of_the_shared_jvm() -> None:
    """Otherwise, a query that fits there would be suspected because it does not fit here."""
    given = {"duolog.query.jvm.group.memory.bytes": str(600 * MIB)}

    assert JvmLimits.of_properties(given).of("quarantine-1").memory_bytes == SHARED_HEAP_BYTES
    assert JvmLimits.of_properties(given, 3 * GIB).of("quarantine").memory_bytes == 3 * GIB
    own = given | {"duolog.query.jvm.group.quarantine.memory.bytes": str(700 * MIB)}
    assert JvmLimits.of_properties(own).of("quarantine").memory_bytes == 700 * MIB
    assert SHARED_HEAP_BYTES == DRIVER_MEMORY_BYTES_DEFAULT


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("groups.max", "many", "at least 0"),
        ("groups.max", "-1", "at least 0"),
        ("stop.timeout.ms", "0", "at least 1"),
        ("group.heavy.memory.bytes", "1000", f"at least {512 * MIB}"),
        ("group.heavy.nice", "20", "from 0 to 19"),
    ],
)
def test_a_limit_out_of_range_is_refused_at_the_start(name: str, value: str, allowed: str) -> None:
    with pytest.raises(SqlError, match=f"duolog.query.jvm.{name}") as raised:
        JvmLimits.of_properties({f"duolog.query.jvm.{name}": value})

    assert allowed in raised.value.hint
