import logging
import threading
from collections.abc import Callable
from unittest.mock import MagicMock

import pytest

import waiting
from duolog.runtime.sql.errors import CommandDamaged, ServiceInUse
from duolog.runtime.sql.persistent import service_queries
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
    tried: list[None] = []

    def follow() -> None:
        tried.append(None)
        raise ServiceInUse("service_", "host/1/2")

    service = queries(follow)

    service.apply(has_new_query=True)
    service.apply(has_new_query=True)

    assert len(tried) == 1
    assert service.supervisor is None


def test_only_a_new_query_starts_the_queries_of_a_service() -> None:
    follow = MagicMock()

    queries(follow).apply(has_new_query=False)

    follow.assert_not_called()


def test_queries_that_do_not_run_here_are_settled() -> None:
    service = queries(MagicMock())

    service.wait_stopped(["CSAS_A_0"])

    assert service.wait_settled(0)


class Ownerships:
    """Makes the ownerships of a service: gained at once, but the first one is lost by `acquire`."""

    def __init__(self) -> None:
        self.made: list[MagicMock] = []

    def __call__(
        self,
        _bootstrap: str,
        _service_id: str,
        _topic: str,
        lost: Callable[[], None],
        gained: Callable[[], None] = lambda: None,
    ) -> MagicMock:
        made = MagicMock()
        made.name = "host/1/2"
        made.lost = lost
        made.stand_by = gained
        made.acquire = lost if not self.made else MagicMock()
        self.made.append(made)
        return made


@pytest.fixture
def ownerships(monkeypatch: pytest.MonkeyPatch) -> Ownerships:
    made = Ownerships()
    monkeypatch.setattr(service_queries, "Ownership", made)
    return made


def test_a_service_that_is_lost_as_soon_as_it_is_owned_runs_no_queries(
    ownerships: Ownerships,
) -> None:
    supervise = MagicMock()
    service = queries(MagicMock(), supervise)

    service.start()
    service.give_up()

    assert len(ownerships.made) == 1
    assert service.supervisor is None
    supervise.return_value.start.assert_not_called()


def test_a_server_that_loses_its_turn_while_it_reads_the_catalog_runs_queries_once(
    ownerships: Ownerships,
) -> None:
    supervise = MagicMock()
    lost: list[int] = []
    started: list[int] = []
    supervise.return_value.start = lambda _: started.append(threading.get_ident())

    def follow() -> None:
        if not lost:
            lost.append(threading.get_ident())
            ownerships.made[0].lost()

    service = queries(follow, supervise)

    service.stand_by()
    waiting.wait_until(lambda: started, "the server does not get its next turn")
    service.give_up()

    assert len(ownerships.made) == 2
    assert len(started) == 1
    assert started != lost
    ownerships.made[0].close.assert_called()


def test_a_damaged_command_topic_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    replayed = MagicMock()
    replayed.follow.side_effect = CommandDamaged("commands", 3, "It is not a statement.")
    supervise = MagicMock()
    service = queries(MagicMock(), supervise, replayed)
    with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(service_queries, "Ownership", MagicMock())
        patch.setattr(service_queries, "_FOLLOW_S", 0.0)
        service.start()
        (look,) = supervise.call_args.args

        look()
        look()

    assert replayed.follow.call_count == 2
    assert len(caplog.records) == 1
