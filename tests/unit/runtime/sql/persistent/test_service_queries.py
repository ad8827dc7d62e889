import logging
import threading
from collections.abc import Callable
from unittest.mock import MagicMock

import pytest

import waiting
from duolog.core.errors import KafkaError
from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.errors import CommandDamaged, ServiceInUse
from duolog.runtime.sql.persistent import service_queries
from duolog.runtime.sql.persistent.members import Member
from duolog.runtime.sql.persistent.places import ALL_PLACES, place_of
from duolog.runtime.sql.persistent.service_queries import ServiceQueries


def queries(
    follow: Callable[[], None],
    supervise: MagicMock | None = None,
    replayed: MagicMock | None = None,
) -> ServiceQueries:
    """Return the queries of a service without a broker."""
    return ServiceQueries(
        "127.0.0.1:1",
        "service_",
        replayed=replayed or MagicMock(),
        follow=follow,
        supervise=supervise or MagicMock(),
        lock=threading.RLock(),
    )


def test_a_service_in_use_is_not_tried_again_with_each_query() -> None:
    tried: list[str] = []

    def follow() -> None:
        tried.append(threading.current_thread().name)
        raise ServiceInUse("service_", "host/1/2")

    service = queries(follow)

    service.start_first()
    service.start_first()
    waiting.wait_until(lambda: len(tried) > 1, "it does not try again in the background")

    assert tried == ["MainThread", "duolog-sql-start"]
    assert service.supervisor is None


def test_a_server_leaves_the_first_query_to_its_turn() -> None:
    follow = MagicMock()
    service = queries(follow)
    service.given_up.set()
    service.stand_by()

    service.start_first()

    follow.assert_not_called()


def test_queries_that_do_not_run_here_are_settled() -> None:
    service = queries(MagicMock())

    service.wait_stopped({})

    assert service.wait_settled(0)


class Memberships:
    """Makes the memberships of a service: all places at once, but the first one is lost by `acquire`."""

    def __init__(self) -> None:
        self.made: list[MagicMock] = []

    def __call__(
        self, _bootstrap: str, _service_id: str, duties: ServiceQueries, **_: object
    ) -> MagicMock:
        made = MagicMock()
        made.name = "host/1/2/shares/"
        made.others.return_value = []
        made.join = lambda: duties.gain(made, ALL_PLACES)
        made.wait_gained.return_value = True
        made.lost = lambda: duties.lose(made)
        made.acquire = (
            (lambda **_: duties.lose(made))
            if not self.made
            else (lambda **_: duties.gain(made, ALL_PLACES))
        )
        self.made.append(made)
        return made


@pytest.fixture
def memberships(monkeypatch: pytest.MonkeyPatch) -> Memberships:
    made = Memberships()
    monkeypatch.setattr(service_queries, "Membership", made)
    monkeypatch.setattr(service_queries, "make_places", MagicMock())
    return made


def test_a_service_that_is_lost_as_soon_as_it_is_acquired_runs_no_queries(
    memberships: Memberships,
) -> None:
    supervise = MagicMock()
    service = queries(MagicMock(), supervise)

    service.start()
    service.give_up()

    assert len(memberships.made) == 1
    assert service.supervisor is None
    supervise.return_value.start.assert_not_called()


def test_a_server_that_loses_its_places_while_it_reads_the_catalog_runs_queries_once(
    memberships: Memberships,
) -> None:
    supervise = MagicMock()
    lost: list[int] = []
    started: list[int] = []
    supervise.return_value.start = lambda _: started.append(threading.get_ident())

    def follow() -> None:
        if not lost:
            lost.append(threading.get_ident())
            memberships.made[0].lost()

    service = queries(follow, supervise)

    service.stand_by()
    waiting.wait_until(lambda: started, "the server does not get its next turn")
    service.give_up()

    assert len(memberships.made) == 2
    assert len(started) == 1
    assert started != lost
    memberships.made[0].close.assert_called()


def test_a_server_waits_while_a_shell_runs_the_queries(
    memberships: Memberships, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_queries, "_TURN_S", 0.0)
    shell = [Member.named("host", 1, 1, shares=False)]
    asked: list[list[Member]] = []
    supervise = MagicMock()
    service = queries(MagicMock(), supervise)
    make = memberships.__call__

    def with_shell(*given: object, **named: object) -> MagicMock:
        made = make(*given, **named)  # type: ignore[arg-type]
        asked.append(shell if len(asked) < 3 else [])
        made.others.return_value = asked[-1]
        return made

    monkeypatch.setattr(service_queries, "Membership", with_shell)

    service.stand_by()
    waiting.wait_until(lambda: supervise.return_value.start.called, "the server does not join")
    service.give_up()

    assert asked == [shell, shell, shell, []]


def test_a_server_that_cannot_join_the_others_warns_once(
    memberships: Memberships, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its queries did not run, and only a log of level debug had the reason."""
    monkeypatch.setattr(service_queries, "_REGAIN_S", 0.0)
    refused = [KafkaError("the topic has 3 partitions", code=37, hint="Delete it.")] * 3
    supervise = MagicMock()
    service = queries(MagicMock(), supervise)

    def make(_brokers: str, _service_id: str) -> None:
        if refused:
            raise refused.pop()

    monkeypatch.setattr(service_queries, "make_places", make)
    with caplog.at_level(logging.WARNING):
        service.stand_by()
        waiting.wait_until(lambda: supervise.return_value.start.called, "it does not join")
    service.give_up()

    (warning,) = caplog.messages
    assert "3 partitions" in warning
    assert "Delete it." in warning
    assert memberships.made


def running(*numbers: int) -> tuple[ServiceQueries, MagicMock, MagicMock, MagicMock]:
    """Return a server's queries with these numbers, its supervisor, membership and catalog."""
    replayed = MagicMock()
    replayed.wanted = {f"Q{number}": DesiredQuery(MagicMock(), number=number) for number in numbers}
    supervise = MagicMock()
    service = queries(MagicMock(), supervise, replayed)
    membership = MagicMock()
    membership.name = "host/1/2/shares/"
    service._become(membership)  # noqa: SLF001 - without a broker
    service._run(membership)  # noqa: SLF001
    return service, supervise.return_value, membership, replayed


def wanted_of(supervisor: MagicMock) -> tuple[list[str], list[str]]:
    here, elsewhere = supervisor.want.call_args.args
    return sorted(here), sorted(elsewhere)


def test_queries_of_new_places_start_once_the_catalog_was_read() -> None:
    """A query that has ended while it moved would start again, from its first record."""
    service, supervisor, membership, replayed = running(0, 1)
    looked = service._look  # noqa: SLF001 - as the supervisor calls it

    service.gain(membership, frozenset({place_of(0), place_of(1)}))
    assert wanted_of(supervisor) == ([], ["Q0", "Q1"])
    del replayed.wanted["Q0"]
    looked()

    assert replayed.follow.called
    assert wanted_of(supervisor) == (["Q1"], [])


def test_a_place_is_released_after_its_queries_have_stopped() -> None:
    service, supervisor, membership, _ = running(0, 1)
    service.gain(membership, ALL_PLACES)
    service._look()  # noqa: SLF001 - as the supervisor calls it
    assert wanted_of(supervisor) == (["Q0", "Q1"], [])
    waited: list[tuple[list[str], tuple[list[str], list[str]]]] = []

    def stopped(ids: list[str], _timeout_s: float) -> bool:
        waited.append((ids, wanted_of(supervisor)))
        return len(waited) == 2

    supervisor.wait_stopped = stopped

    service.release(membership, frozenset({place_of(1)}))

    assert waited == [(["Q1"], (["Q0"], ["Q1"]))] * 2, "it asks until the query has stopped"
    supervisor.force_stop.assert_called_once_with(["Q1"])


def test_a_place_is_released_after_a_server_that_stops_has_stopped_its_queries() -> None:
    """The supervisor is gone from the service while it stops the queries."""
    service, supervisor, membership, _ = running(0)
    service.gain(membership, ALL_PLACES)
    service._look()  # noqa: SLF001 - as the supervisor calls it
    order: list[str] = []

    def close() -> None:
        releasing = threading.Thread(target=service.release, args=(membership, ALL_PLACES))
        releasing.start()
        releasing.join()

    supervisor.close = close
    supervisor.wait_stopped = lambda ids, _: bool(order.extend(ids) or order)  # type: ignore[func-returns-value]

    service.stop()

    assert order == ["Q0"]


def test_a_query_that_stops_on_another_server_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DROP … DELETE TOPIC used to delete the topic while the other server wrote to it."""
    service, _, membership, _ = running(0, 1)
    service.gain(membership, frozenset({place_of(1)}))
    service._look()  # noqa: SLF001 - as the supervisor calls it
    here, there = (DesiredQuery(MagicMock(), number=number) for number in (1, 0))
    asked: list[list[str]] = []

    def still(_brokers: str, _service: str, left: dict[str, DesiredQuery]) -> object:
        asked.append(list(left))
        return left if len(asked) < 3 else {}

    monkeypatch.setattr(service_queries, "still_stopping", still)
    monkeypatch.setattr(service_queries, "_ASK_STOPPED_S", 0.0)

    service.wait_stopped({"Q1": here})
    assert asked == []
    service.wait_stopped({"Q1": here, "Q0": there})

    assert asked == [["Q0"]] * 3


def test_places_of_an_older_membership_are_ignored() -> None:
    service, supervisor, _, _ = running(0)
    calls = supervisor.want.call_count

    service.gain(MagicMock(), ALL_PLACES)
    service._look()  # noqa: SLF001 - as the supervisor calls it

    assert supervisor.want.call_count > calls
    assert wanted_of(supervisor) == ([], ["Q0"])


def test_a_damaged_command_topic_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    replayed = MagicMock()
    replayed.follow.side_effect = CommandDamaged("commands", 3, "It is not a statement.")
    supervise = MagicMock()
    service = queries(MagicMock(), supervise, replayed)
    with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(service_queries, "Membership", MagicMock())
        patch.setattr(service_queries, "make_places", MagicMock())
        patch.setattr(service_queries, "_FOLLOW_S", 0.0)
        service.start()
        (look,) = supervise.call_args.args

        look()
        look()

    assert replayed.follow.call_count == 2
    assert len(caplog.records) == 1
