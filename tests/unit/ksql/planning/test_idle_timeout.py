"""IDLE TIMEOUT of windows with EMIT FINAL: its effect, and refusals."""

import pytest

from duolog.ksql.errors import SqlError
from duolog.plan.nodes import AggregateNode
from unit.ksql.join_queries import STRICT, planned
from unit.ksql.planning.test_calendar_windows import counted

FINAL = " EMIT FINAL"


@pytest.mark.parametrize(
    "window",
    [
        "TUMBLING (SIZE 1 HOUR, GRACE PERIOD 0 SECONDS, IDLE TIMEOUT 30 SECONDS)",
        "HOPPING (SIZE 1 HOUR, IDLE TIMEOUT 30 SECONDS, ADVANCE BY 1 MINUTE)",
        "SESSION (1 HOUR, IDLE TIMEOUT 30 SECONDS)",
        "TUMBLING (SIZE 1 MONTH, TIMEZONE 'Europe/Berlin', IDLE TIMEOUT 30 SECONDS)",
    ],
)
def test_windows_of_all_kinds_may_have_an_idle_timeout(window: str) -> None:
    plan = planned(counted(window) + FINAL).plan

    (node,) = [one for one in plan.nodes if isinstance(one, AggregateNode)]
    assert node.idle_ms == 30_000


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            counted("TUMBLING (SIZE 1 HOUR, IDLE TIMEOUT 1 SECOND)"),
            "results are emitted on each update",
        ),
        (counted("TUMBLING (SIZE 1 HOUR, IDLE TIMEOUT 0 SECONDS)") + FINAL, "must be positive"),
        (
            counted("TUMBLING (SIZE 1 HOUR, IDLE TIMEOUT 1 MONTH)") + FINAL,
            "the length of a MONTH varies",
        ),
    ],
)
def test_an_idle_timeout_without_effect_is_refused(query: str, said: str) -> None:
    with pytest.raises(SqlError) as caught:
        planned(query)

    assert said in caught.value.message
    assert caught.value.at is not None


def test_strict_mode_cannot_parse_it() -> None:
    with pytest.raises(SqlError) as caught:
        planned(counted("TUMBLING (SIZE 1 HOUR, IDLE TIMEOUT 1 SECOND)") + FINAL, STRICT)

    assert "found 'IDLE'" in caught.value.message
