"""Batches of requests about associations: each request is applied as a whole, in order."""

from typing import TYPE_CHECKING

import pytest

from duolog.registry.errors import RequestError
from duolog.registry.rules.association_requests import batch_of_queries, batch_of_requests
from unit.registry.harness import Harness, shown, string_record
from unit.registry.rules.orders_topic import invalid, refusal, resource

if TYPE_CHECKING:
    from duolog.registry.json_text import Json

A = string_record("A", "x")
B = string_record("A", "x", optional=("y",))


def test_a_batch_applies_each_request_as_a_whole(harness: Harness) -> None:
    harness.register("shared", A)
    body = {
        "requests": [
            resource({"opType": "CREATE", "associationType": "value", "schema": {"schema": A}}),
            resource(
                {"opType": "CREATE", "subject": "shared"},
                {"opType": "CREATE", "associationType": "key", "subject": "none"},
                resourceName="payments",
                resourceId="id2",
            ),
            resource(
                {"opType": "UPSERT", "subject": "shared"},
                resourceName="payments",
                resourceId="id3",
            ),
        ]
    }

    answer = shown(harness.commit(harness.registry.apply_batch(batch_of_requests(body))))

    assert isinstance(answer, dict)
    results = answer["results"]
    assert results[0]["result"]["associations"][0]["schema"]["id"] == 1
    assert results[1] == {
        "error": {
            "error_code": 40907,
            "message": "No active (non-deleted) version exists for subject 'none'",
        }
    }
    assert results[2]["result"]["associations"] == [
        {"subject": "shared", "associationType": "value", "lifecycle": "WEAK"}
    ]
    assert len(harness.registry.associations_of_subject("shared")) == 1


def test_a_batch_deletes_and_creates_in_order(weak: Harness) -> None:
    body = {
        "requests": [
            resource({"opType": "DELETE", "associationType": "value"}),
            resource({"opType": "CREATE", "associationType": "value", "schema": {"schema": B}}),
        ]
    }

    answer = shown(weak.commit(weak.registry.apply_batch(batch_of_requests(body))))

    assert isinstance(answer, dict)
    assert answer["results"][1]["result"]["associations"][0]["lifecycle"] == "STRONG"
    assert shown(weak.registry.associations_of_subject("shared")) == []


def test_a_refused_request_of_a_batch_leaves_no_trace(weak: Harness) -> None:
    body = {
        "requests": [
            resource(
                {"opType": "DELETE", "associationType": "value"},
                {"opType": "CREATE", "associationType": "key", "subject": "none"},
            ),
            resource({"opType": "UPSERT", "subject": "shared"}),
        ]
    }

    decision = weak.registry.apply_batch(batch_of_requests(body))

    assert decision.records == ()
    assert decision.answer.results[0].error_code == 40907
    assert weak.registry.associations_of_subject("shared")[0].value.guid == "guid-1"


def test_a_batch_of_queries(strong: Harness) -> None:
    body: Json = {
        "requests": [
            {"resourceId": "id1"},
            {"resourceName": "orders", "resourceNamespace": "-", "associationTypes": ["key"]},
            {"resourceName": "orders"},
            {},
        ]
    }

    answer = shown(strong.registry.find_associations(batch_of_queries(body), schemas=True))

    assert isinstance(answer, dict)
    results = answer["results"]
    assert results[0]["result"]["resourceName"] == "orders"
    assert results[0]["result"]["associations"][0]["schema"]["version"] == 1
    assert "associations" not in results[1]["result"]
    assert results[2]["error"]["error_code"] == 500
    assert "resourceNamespace is required" in results[2]["error"]["message"]
    assert "either resourceId or resourceName" in results[3]["error"]["message"]


@pytest.mark.parametrize("body", [{}, {"requests": []}])
def test_a_batch_without_requests_has_code_42212(body: dict[str, list[int]]) -> None:
    for read in (batch_of_requests, batch_of_queries):
        with pytest.raises(RequestError) as caught:
            read(body)
        assert refusal(caught) == invalid("requests", "cannot be null or empty")
