import pytest

from unit.kernel.java_program import run_java


@pytest.mark.parametrize("real_time", ["false", "true"])
def test_the_outputs_of_one_record_leave_one_by_one(real_time: str) -> None:
    for_each_record, waited = run_java("ManyOutputs", 100_000, real_time)

    assert (for_each_record, waited) == ("100000", "1")
