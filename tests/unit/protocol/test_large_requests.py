"""A large request is read item by item, and comes out as kio reads it."""

import sys
import threading
from time import monotonic, sleep

import pytest
from kio._kio_native import entity_reader

from duolog.broker.requests.api import Api
from duolog.broker.router import find_apis
from duolog.protocol.encoder import encoder
from duolog.protocol.large_requests import large_reader
from duolog.protocol.messages import entity_type
from unit.broker.requests.test_longest_round import value_of

APIS = find_apis()


@pytest.mark.parametrize("api", APIS, ids=[api.name for api in APIS])
@pytest.mark.parametrize("lengths", [[3, 3, 3, 3], [0, 0, 0], [1, 4, 2]])
def test_the_decoder_reads_the_same_as_kio(api: Api, lengths: list[int]) -> None:
    for version in api.versions:
        type_ = entity_type(api.key, version, "request")
        data = encoder(type_)(value_of(type_, 0, lengths))

        assert large_reader(type_)(data, 0) == entity_reader(type_)(data, 0)


def test_tagged_fields_and_nulls_are_read() -> None:
    type_ = entity_type(1, 17, "request")
    values = {**value_of(type_, 0, [2, 2]), "cluster_id": "c", "replica_state": {"replica_id": 7}}
    data = encoder(type_)(values)
    assert large_reader(type_)(data, 0) == entity_reader(type_)(data, 0)

    type_ = entity_type(3, 12, "request")
    data = encoder(type_)({"topics": None})
    assert large_reader(type_)(data, 0) == entity_reader(type_)(data, 0)


def test_another_thread_runs_meanwhile() -> None:
    """kio reads it in one call, which blocked all threads for its duration."""
    type_ = entity_type(8, 8, "request")
    data = encoder(type_)(value_of(type_, 0, [1, 100_000]))
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    try:
        thread = threading.Thread(target=large_reader(type_), args=(data, 0))
        thread.start()
        turns, until = 0, monotonic() + 30
        while thread.is_alive() and monotonic() < until:
            sleep(0.0001)
            turns += 1
        thread.join()
    finally:
        sys.setswitchinterval(before)

    assert turns > 20
