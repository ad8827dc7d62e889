from unit.kernel.java_program import run_java


def test_a_tick_is_made_for_what_the_newest_run_of_a_task_wants_and_once() -> None:
    """Executors tell it, and go: what one wanted that has gone neither ticks for ever nor is lost.

    Nor is it told to who asks for a query that is over, to which nobody listens.
    """
    steps = [
        "none: nobody has begun",
        "tick: a start",
        "none: and nobody wants more",
        "tick: one wants",
        "none: it has not said anything since, as one that has gone",
        "tick: an older run of it wants no more",
        "none: an older run wants what the newest does not",
        "tick: the newest wants it now",
        "none: it wants no more",
        "tick: another start",
        "tick: whose runs have other numbers",
        "none: one that asks for an earlier start",
        "tick: one that asks for this one",
        "none: an earlier one again",
        "here: -1",
        "tick: which takes nothing away",
    ]

    assert run_java("WishesForTicks") == " ".join(steps).split()
