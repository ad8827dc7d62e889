"""The first consumer of a broker for tests starts at the latest offset without a delay."""

from duolog.broker.apis.k02_list_offsets import API
from duolog.protocol.headers import RequestHeader
from duolog.protocol.messages import Messages
from duolog.testing.local_broker.program import load_list_offsets


def test_all_versions_of_list_offsets_are_loaded() -> None:
    messages = Messages()

    load_list_offsets(messages)

    headers = [RequestHeader(2, version, 0, None, 0) for version in API.versions]
    assert all(messages.loaded(header) for header in headers)
