"""An error answer can be made for every API and version, and names what was asked for."""

from typing import Any

import pytest
from kio.serial import entity_reader

from duolog.broker.router import find_apis
from duolog.protocol.encoder import encoder
from duolog.protocol.error_reply import mirror_error
from duolog.protocol.messages import entity_type

COLD = [
    (api.key, version) for api in find_apis() if api.handle is not None for version in api.versions
]


@pytest.mark.parametrize(("key", "version"), COLD)
def test_an_error_answer_can_be_written_in_every_version(key: int, version: int) -> None:
    request_type, response_type = (
        entity_type(key, version, kind) for kind in ("request", "response")
    )
    request, _ = entity_reader(request_type)(encoder(request_type)({}), 0)

    data = encoder(response_type)(mirror_error(response_type, request, -1, "surprise"))

    entity, size = entity_reader(response_type)(data, 0)
    assert size == len(data)
    if hasattr(entity, "error_code"):
        assert entity.error_code == -1


def answer_to(key: int, version: int, fields: dict[str, Any]) -> Any:
    request_type, response_type = (
        entity_type(key, version, kind) for kind in ("request", "response")
    )
    request, _ = entity_reader(request_type)(encoder(request_type)(fields), 0)
    data = encoder(response_type)(mirror_error(response_type, request, -1, None))
    entity, _ = entity_reader(response_type)(data, 0)
    return entity


def test_each_partition_that_was_asked_for_gets_the_error() -> None:
    partitions = [{"partition_index": 4}, {"partition_index": 7}]

    answer = answer_to(2, 7, {"topics": [{"name": "a", "partitions": partitions}]})

    rows = [(t.name, p.partition_index, p.error_code) for t in answer.topics for p in t.partitions]
    assert rows == [("a", 4, -1), ("a", 7, -1)]


def test_names_of_the_request_become_rows_of_the_answer() -> None:
    deleted = answer_to(20, 3, {"topic_names": ["a", "b"]})
    described = answer_to(32, 4, {"resources": [{"resource_type": 2, "resource_name": "a"}]})

    assert [(row.name, row.error_code) for row in deleted.responses] == [("a", -1), ("b", -1)]
    assert [(row.resource_name, row.error_code) for row in described.results] == [("a", -1)]
