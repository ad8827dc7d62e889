import threading
from collections.abc import Callable
from unittest.mock import MagicMock

from duolog.runtime.sql.errors import ServiceInUse
from duolog.runtime.sql.persistent.service_queries import ServiceQueries


def queries(follow: Callable[[], None]) -> ServiceQueries:
    """Return the queries of a service without a broker."""
    return ServiceQueries(
        "127.0.0.1:1",
        "service_",
        replayed=MagicMock(),
        follow=follow,
        supervise=MagicMock(),
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
