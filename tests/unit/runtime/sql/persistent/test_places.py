"""Places of queries, and the numbers that decide them."""

import pytest

from duolog.runtime.sql.persistent.places import PLACES, place_of


@pytest.mark.parametrize("queries", [8, 20, 21, 40, 64])
@pytest.mark.parametrize("servers", [2, 3, 4])
def test_queries_are_spread_over_runs_of_places(queries: int, servers: int) -> None:
    """The assignor gives each server adjacent places: 20 of 20 queries used to be on one of two."""
    places = [place_of(number) for number in range(queries)]
    size = PLACES / servers

    counts = [
        sum(size * server <= place < size * (server + 1) for place in places)
        for server in range(servers)
    ]

    assert max(counts) - min(counts) <= 2


@pytest.mark.parametrize("queries", [8, 20, 21, 40, 64])
def test_queries_are_spread_over_even_and_odd_places(queries: int) -> None:
    """A server that leaves has its places dealt in turn."""
    even = sum(place_of(number) % 2 == 0 for number in range(queries))

    assert abs(2 * even - queries) <= 1
