from collections.abc import Callable
from typing import Any, Final

import pytest

from duolog import Topology, col, session, sliding, tumbling, unlimited
from duolog.core.errors import StatementError
from duolog.core.units import DAY_MS, MINUTE_MS
from duolog.dsl.streams import Stream
from duolog.plan.windows import Windows
from duolog.runtime.result_topics import result_topics

CORRECT: Final = col("count") > 0


def test_a_tables_topic_is_compacted_and_has_as_many_partitions_as_tasks() -> None:
    topology = Topology("totals")
    sales = topology.stream("sales", key="product STRING", value="amount BIGINT")
    sales.group_by_key().count("sales").to("totals")
    sales.to("copy", partitions=7)

    wanted = {t.topic: t for t in result_topics(topology.build(), {"sales": 4, "other": 9})}

    assert {name: t.num_partitions for name, t in wanted.items()} == {"totals": 4, "copy": 7}
    assert wanted["totals"].config == {"cleanup.policy": "compact"}
    assert wanted["copy"].config == {}


def configs(define: Callable[[Stream, Topology], None]) -> dict[str, str]:
    topology = Topology("t")
    define(topology.stream("in", key="k STRING", value="n INT"), topology)
    (topic,) = result_topics(topology.build(), {})
    return dict(topic.config or {})


@pytest.mark.parametrize(
    ("windows", "kept_ms"),
    [
        (tumbling("1 hour", grace="5 minutes"), 65 * MINUTE_MS),
        (session("30 minutes", grace="1 minute"), 31 * MINUTE_MS),
        (sliding("10 minutes"), 20 * MINUTE_MS),
    ],
)
def test_windowed_rows_are_deleted_from_their_topic_if_a_retention_is_given(
    windows: Windows, kept_ms: int
) -> None:
    def counted(**more: Any) -> dict[str, str]:
        return configs(
            lambda stream, _: (
                stream.group_by_key().windowed_by(windows).count().filter(CORRECT).to("out", **more)
            )
        )

    both = "compact,delete"
    assert counted() == {"cleanup.policy": "compact"}
    assert counted(retention="1 day") == {
        "cleanup.policy": both,
        "retention.ms": str(kept_ms + DAY_MS),
    }
    assert counted(retention="0 s") == {"cleanup.policy": both, "retention.ms": str(kept_ms)}
    assert counted(retention="for ever") == {"cleanup.policy": "compact"}


def test_unwindowed_rows_are_kept() -> None:
    def for_ever(stream: Stream, _: Topology) -> None:
        stream.group_by_key().windowed_by(unlimited()).count().to("out")

    def regrouped(stream: Stream, _: Topology) -> None:
        counted = stream.group_by_key().windowed_by(tumbling("1 s")).count()
        counted.group_by("window_start").count().to("out")

    def read(_: Stream, topology: Topology) -> None:
        topology.table("w", key="k INT", value="n INT", windowed=tumbling("1 s")).to("out")

    for define in (for_ever, regrouped, read):
        assert configs(define) == {"cleanup.policy": "compact"}


def test_a_stream_is_kept_for_its_retention_and_a_table_for_ever() -> None:
    stream = Topology("t").stream("in", key="k STRING", value="n INT")

    assert configs(lambda stream, _: stream.to("out")) == {}
    kept = configs(lambda stream, _: stream.to("out", retention="30 days"))
    assert kept == {"retention.ms": str(30 * DAY_MS)}
    with pytest.raises(StatementError, match="do not expire by age"):
        stream.group_by_key().count().to("out", retention="30 days")
