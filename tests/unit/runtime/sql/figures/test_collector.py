"""Measurements against truths: known records with known timestamps, stopped queries, restarts."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

import waiting
from duolog.core.errors import KafkaError
from duolog.engine.query.metrics import (
    Metrics,
    NodeMetrics,
    StateMetrics,
    StoreMetrics,
    TaskMetrics,
)
from duolog.ksql.session import SqlSession
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.figures import collector
from duolog.runtime.sql.figures.collector import FiguresCollector, Wiring
from duolog.runtime.sql.figures.query_figures import (
    PARTITIONS_MAX,
    Flow,
    PartitionLag,
    QueryFigures,
    StoreFigures,
)
from duolog.runtime.sql.figures.unread import NO_RECORD
from duolog.runtime.sql.persistent.query_supervisor import LiveQuery
from unit.runtime.sql.fake_queries import FakeQuery
from unit.runtime.sql.figures.fake_running import QUERY, Broker, Clock, Queries, Running
from waiting import wait_until

TEXT = """
CREATE STREAM orders (id STRING KEY, n INT)
  WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE STREAM large AS SELECT * FROM orders WHERE n > 3;
"""
AT = ("orders", 0)


class World:
    """A collector over a query that a test drives."""

    def __init__(self, note: Callable[[QueryFigures], None] = lambda _: None) -> None:
        session = SqlSession()
        list(session.run(TEXT))
        self.wanted = {name: DesiredQuery(query) for name, query in session.state.queries.items()}
        self.query = Running()
        self.queries: Queries | None = Queries(self.query)
        self.broker, self.clock = Broker(), Clock()
        self.kept: dict[str, dict[int, int]] = {}
        self.is_reachable = True
        self.collector = FiguresCollector(
            Wiring(
                lambda: self.queries,
                lambda: self.wanted,
                lambda _: self.kept,
                self._counts,
                self.broker,
            ),
            self.clock,
            note,
        )

    def measure(self, after_s: float = 5) -> QueryFigures:
        """Let time pass, and return what is measured then."""
        self.clock.ms += int(after_s * 1000)
        return self.collector.figures()[QUERY]

    def stop(self, state: str = "PAUSED") -> None:
        assert self.queries is not None
        self.queries.query = None
        self.queries.live = LiveQuery(QUERY, state)  # type: ignore[arg-type]

    def _counts(self) -> dict[str, int]:
        if not self.is_reachable:
            raise BrokerUnavailable("no broker")
        return {"orders": 2, "other": 1}


@pytest.fixture
def world() -> World:
    return World()


def test_the_lag_in_time_is_the_age_of_the_first_unread_record(world: World) -> None:
    world.query.read("orders", 7, 10)
    world.broker.timestamps[AT, 7] = world.clock.ms - 60_000

    found = world.measure(5)

    assert (found.lag.records, found.lag.ms) == (3, 65_000)
    assert found.lag.partitions == (PartitionLag("orders", 0, 7, 10, 65_000),)
    assert found.at_ms == world.clock.ms


def test_the_greatest_lag_of_the_partitions_counts_and_the_records_of_all(world: World) -> None:
    world.query.read("orders", 7, 10, partition=0)
    world.query.read("orders", 0, 2, partition=1)
    world.query.read("orders", 5, 5, partition=2)
    world.broker.timestamps = {
        (AT, 7): world.clock.ms - 1_000,
        (("orders", 1), 0): world.clock.ms - 9_000,
    }

    found = world.measure(0)

    assert (found.lag.records, found.lag.ms) == (5, 9_000)
    assert [(one.partition, one.records, one.ms) for one in found.lag.partitions] == [
        *((0, 3, 1_000), (1, 2, 9_000), (2, 0, 0))
    ]
    # A partition that was read to its end is not asked for.
    assert world.broker.asked == [{AT: 7, ("orders", 1): 0}]


def test_a_query_that_has_read_everything_has_no_lag(world: World) -> None:
    world.query.read("orders", 10, 10)

    found = world.measure()

    assert (found.lag.records, found.lag.ms) == (0, 0)
    assert world.broker.asked == []


def test_control_records_are_no_lag(world: World) -> None:
    world.query.read("orders", 9, 10)
    world.broker.timestamps[AT, 9] = NO_RECORD

    found = world.measure()

    assert (found.lag.records, found.lag.ms) == (0, 0)


def test_a_record_from_the_future_has_no_negative_age(world: World) -> None:
    world.query.read("orders", 9, 10)
    world.broker.timestamps[AT, 9] = world.clock.ms + 1_000_000

    assert world.measure().lag.ms == 0


def test_a_lag_is_unknown_while_one_partition_is(world: World) -> None:
    world.query.read("orders", 7, 10)
    world.query.read("orders", 7, 9, partition=1)
    world.broker.timestamps[AT, 7] = 1
    assert (world.measure().lag.records, world.measure().lag.ms) == (5, None)

    world.query.read("orders", 7, None, partition=1)
    assert (world.measure().lag.records, world.measure().lag.ms) == (None, None)


def test_only_the_partitions_with_the_greatest_lag_are_listed(world: World) -> None:
    for number in range(PARTITIONS_MAX + 20):
        world.query.read("orders", 0, number, partition=number)

    found = world.measure()

    assert len(found.lag.partitions) == PARTITIONS_MAX
    assert found.lag.partitions[0].partition == PARTITIONS_MAX + 19
    assert found.lag.records == sum(range(PARTITIONS_MAX + 20))


def test_the_lag_of_a_stopped_query_grows(world: World) -> None:
    world.query.read("orders", 7, 10)
    world.broker.timestamps[AT, 7] = world.clock.ms
    world.measure(5)
    world.stop()
    world.broker.log_ends = {AT: 20, ("orders", 1): 4}
    world.broker.timestamps[("orders", 1), 0] = world.clock.ms

    lags = [world.measure(5).lag for _ in range(8)]

    # Ten more records came, and four in a partition that it has never read.
    assert {lag.records for lag in lags} == {13 + 4}
    assert [lag.ms for lag in lags] == [10_000 + 5_000 * step for step in range(8)]
    assert (lags[-1].ms_trend, lags[-1].records_trend) == ("rising", "steady")


def test_a_query_that_catches_up_has_a_falling_lag(world: World) -> None:
    start_ms = world.clock.ms
    found = None
    for step in range(10):
        world.query.read("orders", step * 1_000, 10_000)
        # Record n was written n milliseconds after the start, and all are old.
        world.broker.timestamps[AT, step * 1_000] = start_ms - 1_000_000 + step * 100_000
        found = world.measure(5)

    assert found is not None
    assert (found.lag.records_trend, found.lag.ms_trend) == ("falling", "falling")


def test_after_a_restart_of_the_server_the_checkpoint_has_the_position(world: World) -> None:
    world.stop()
    world.kept = {"orders": {0: 5}}
    world.wanted[QUERY] = replace(world.wanted[QUERY], starts={"orders": {0: 3, 1: 2}})
    world.broker.log_ends = {AT: 9, ("orders", 1): 9}
    world.broker.timestamps = {
        (AT, 5): world.clock.ms - 7_000,
        (("orders", 1), 2): world.clock.ms,
    }

    found = world.measure(0)

    assert (found.lag.records, found.lag.ms) == (4 + 7, 7_000)


def test_a_stopped_query_without_a_broker_has_an_unknown_lag(world: World) -> None:
    world.query.read("orders", 7, 10)
    world.broker.timestamps[AT, 7] = 1
    world.measure()
    world.stop("ERROR")
    world.is_reachable = False
    assert (world.measure().lag.records, world.measure().lag.ms) == (None, None)

    world.is_reachable, world.broker.log_ends = True, None
    assert (world.measure().lag.records, world.measure().lag.ms) == (None, None)


def test_flows_results_and_ages(world: World) -> None:
    world.query.read("orders", 0, 0)
    world.query.write("LARGE", 0)
    world.measure(5)
    world.query.read("orders", 100, 100)
    world.query.write("LARGE", 40)
    written_ms = world.measure(10).at_ms

    found = world.measure(10)

    assert found.records_in == Flow(100, 0.0)
    assert found.topics_in == {"orders": Flow(100, 0.0)}
    assert (found.records_out, found.topics_out) == (Flow(40, 0.0), {"LARGE": Flow(40, 0.0)})
    assert found.bytes_out == 400
    assert found.last_result_at_ms == written_ms
    shown = found.shown(found.at_ms + 1_000)
    assert (shown["ageMs"], shown["lastResultAgeMs"]) == (1_000, 11_000)
    assert shown["uptimeMs"] == found.at_ms + 1_000 - 1_000
    # Older figures are those of a server that has gone.
    assert found.shown(found.at_ms + 60_001)["uptimeMs"] is None


def test_errors_late_records_stores_and_state(world: World) -> None:
    nodes = (NodeMetrics("filter-1", 9, 9, {"null_key": 2, "late": 3, "error": 4}),)
    first = (StoreMetrics("s", 3, 30, 500), StoreMetrics("u", 1, 1, 300))
    second = (
        *(StoreMetrics("s", 3, 30, 400), StoreMetrics("t", 1, 2, None)),
        StoreMetrics("u", 2, 2, None),
    )
    world.query.now = replace(
        world.query.now,
        failed_calls=6,
        skipped={"processing": 4, "deserialization": 1},
        late={"aggregate-2": 3},
        tasks=(
            TaskMetrics("0_0", 1, None, 0, 0, nodes, first),
            TaskMetrics("0_1", 1, None, 0, 0, (), second),
        ),
        states=(StateMetrics(0, 1_000, 24, 0),),
    )

    found = world.measure()

    assert found.errors == {
        "deserialization": 1,
        "processing": 4,
        "production": 0,
        "retention": 0,
        "dropped": 2,
        "functionCalls": 6,
    }
    assert found.late == 3
    assert found.stores == (
        StoreFigures("s", 6, 60, 400),
        StoreFigures("t", 1, 2, None),
        # The count of one task is a lower bound.
        StoreFigures("u", 3, 3, None),
    )
    assert found.state_bytes == 1_024


def test_a_query_without_metrics_reports_its_progress(world: World) -> None:
    assert world.queries is not None
    world.queries.query = FakeQuery()  # type: ignore[assignment]

    found = world.measure()

    assert found.records_in.records == 7
    assert (found.lag.records, found.lag.ms, found.lag.partitions) == (3, None, ())


def test_state_restarts_and_error_are_those_of_the_supervisor(world: World) -> None:
    assert world.queries is not None
    world.queries.live = LiveQuery(
        QUERY, "ERROR", "no disk", 2, restarts=4, failures_total=6, started_at_ms=None
    )

    found = world.measure()

    assert (found.state, found.error, found.restarts, found.failures) == ("ERROR", "no disk", 4, 6)
    assert found.started_at_ms is None
    assert found.shown(found.at_ms)["uptimeMs"] is None


def test_records_are_counted_once_when_the_state_comes_late(world: World) -> None:
    assert world.queries is not None
    world.query.read("orders", 7, 7)
    world.queries.live = LiveQuery(QUERY, "STARTING")
    world.measure()
    world.queries.live = LiveQuery(QUERY, "RUNNING", started_at_ms=1_000)

    assert world.measure().records_in.records == 7


def test_records_of_all_runs_are_counted(world: World) -> None:
    assert world.queries is not None
    world.query.read("orders", 7, 7)
    world.measure()
    world.queries.query = Running()
    world.queries.query.read("orders", 16, 16, consumed=9)

    assert world.measure().records_in.records == 16


def test_records_that_a_jvm_reads_again_count_once(world: World) -> None:
    world.query.read("orders", 0, 7)
    world.measure()
    world.query.read("orders", 5, 7, consumed=7)
    assert world.measure().records_in.records == 5

    # Spark computes the micro-batch in a second pass.
    world.query.read("orders", 7, 7, consumed=14)
    found = world.measure()
    assert (found.records_in.records, found.topics_in["orders"].records) == (7, 7)


def test_offsets_without_records_do_not_count(world: World) -> None:
    world.query.read("orders", 20, 20, consumed=11)

    assert world.measure().records_in.records == 11


def test_records_before_the_start_of_a_query_do_not_count(world: World) -> None:
    world.wanted[QUERY] = replace(world.wanted[QUERY], starts={"orders": {0: 100}})
    world.query.read("orders", 103, 103, consumed=6)
    assert world.measure().records_in.records == 3

    other = World()
    other.stop()
    other.kept, other.broker.log_ends = {"orders": {0: 50}}, {AT: 50}
    other.measure()
    assert other.queries is not None
    other.queries.query = other.query
    other.query.read("orders", 53, 53, consumed=6)
    assert other.measure().records_in.records == 3


def test_a_dropped_query_is_forgotten(world: World) -> None:
    world.query.read("orders", 50, 50)
    world.measure()
    kept = dict(world.wanted)
    world.wanted.clear()
    world.clock.ms += 5_000
    assert world.collector.figures() == {}

    world.wanted.update(kept)
    world.query.read("orders", 1, 1)
    assert world.measure().records_in.records == 1


def test_nothing_is_measured_where_no_queries_run(world: World) -> None:
    world.measure()
    world.queries = None
    world.clock.ms += 5_000

    assert world.collector.figures() == {}


def test_figures_of_the_last_second_are_not_measured_again(world: World) -> None:
    world.query.read("orders", 1, 1)
    first = world.measure()
    world.query.read("orders", 2, 2)

    assert world.measure(0.999) is first
    assert world.measure(0.001).records_in.records == 2


class Topic:
    """Keeps what is published; refuses it at first."""

    def __init__(self) -> None:
        self.rounds: list[list[QueryFigures]] = []

    def publish(self, figures: Iterable[QueryFigures], now_ms: int) -> None:
        del now_ms
        self.rounds.append(list(figures))
        if len(self.rounds) == 1:
            raise KafkaError("refused", code=29)
        if len(self.rounds) == 2:
            raise ValueError("unexpected")


def test_a_server_measures_and_publishes_at_intervals_whatever_happens(world: World) -> None:
    world.query.read("orders", 1, 1)
    topic = Topic()
    world.collector.start("db:8088", topic, interval_s=0.001)
    wait_until(lambda: len(topic.rounds) > 3, "figures were not published")
    world.collector.close()

    assert topic.rounds[-1][0].server == "db:8088"
    assert world.broker.closed


def test_a_query_that_cannot_be_measured_does_not_hide_the_others(world: World) -> None:
    class Ending(Running):
        def metrics(self) -> Metrics:
            raise ConnectionError("the JVM has gone")

    class Two(Queries):
        def live_all(self) -> list[LiveQuery]:
            return [LiveQuery("OTHER", "RUNNING"), *super().live_all()]

        def running(self) -> dict[str, Running]:
            return {"OTHER": Ending(), **super().running()}

    world.wanted["OTHER"] = world.wanted[QUERY]
    world.queries = Two(world.query)
    world.query.read("orders", 7, 7)

    assert world.measure().lag.records == 0
    other = world.collector.figures()["OTHER"]
    assert (other.state, other.lag.records, other.at_ms) == ("RUNNING", None, world.clock.ms)


def test_the_position_of_a_query_that_was_elsewhere_is_read_again(world: World) -> None:
    world.query.read("orders", 5, 5)
    world.measure()
    running, world.queries = world.queries, Queries(None)
    world.queries.live = LiveQuery("OTHER", "RUNNING")
    world.clock.ms += 5_000
    assert world.collector.figures() == {}
    world.queries = running

    world.stop()
    world.kept = {"orders": {0: 90}}
    world.broker.log_ends = {AT: 100}

    assert world.measure().lag.records == 10


def test_a_jvm_that_does_not_answer_does_not_keep_a_server_from_its_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answer = threading.Event(), threading.Event()

    class Hanging(Running):
        def metrics(self) -> Metrics:
            asked.set()
            answer.wait()
            return super().metrics()

    class NoTopic:
        def publish(self, figures: Iterable[QueryFigures], now_ms: int) -> None: ...

    monkeypatch.setattr(collector, "END_S", 0.05)
    world.queries = Queries(Hanging())
    world.collector.start("a:1", NoTopic())
    assert asked.wait(waiting.DEADLINE_S)

    ended = threading.Thread(target=world.collector.close, daemon=True)
    ended.start()
    ended.join(waiting.DEADLINE_S)

    assert not ended.is_alive()
    assert not world.broker.closed  # The measurement may still use it.
    answer.set()


def test_a_broker_that_is_away_is_not_asked_for_each_stopped_query(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "_ROUND_S", 0)
    world.stop()
    world.kept = {"orders": {0: 90}}
    world.broker.log_ends = {AT: 100}

    found = world.measure()

    assert (found.state, found.lag.records, found.lag.partitions[0].position) == (
        "PAUSED",
        None,
        90,
    )
