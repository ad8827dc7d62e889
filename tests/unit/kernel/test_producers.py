from unit.kernel.java_program import run_java


def test_a_producer_that_failed_is_closed_by_the_last_task_that_has_it() -> None:
    """Each time that the broker was away one stayed, with its thread and its buffers."""
    # Two tasks share one; it fails and a third gets another; the two end; a query ends; the third
    # ends; a query ends.
    assert run_java("ProducerPoolSteps") == ["1", "2", "2", "1", "1", "1", "0"]
