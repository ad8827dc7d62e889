"""The first consumer of a broker for tests starts at the latest offset without a delay."""

from duolog.broker.requests.preloading import LIST_OFFSETS, headers
from duolog.protocol.messages import Messages
from duolog.testing.local_broker.program import load_list_offsets


def test_the_versions_of_list_offsets_that_clients_send_are_loaded() -> None:
    messages = Messages()

    load_list_offsets(messages)

    assert all(messages.loaded(header) for header in headers(LIST_OFFSETS))
