"""Requests about the associations of the topic `orders`, for tests."""

from collections.abc import Mapping

import pytest

from duolog.registry.errors import RequestError
from duolog.registry.json_text import Json
from duolog.registry.rules.association_requests import AssociationRequest
from unit.registry.harness import Harness, shown

STRONG = ":.lkc1:orders-value"


def resource(*items: Mapping[str, Json], **more: Json) -> Mapping[str, Json]:
    return {
        "resourceName": "orders",
        "resourceNamespace": "lkc1",
        "resourceId": "id1",
        "associations": list(items),
        **more,
    }


def create(harness: Harness, *items: Mapping[str, Json], **more: Json) -> Json:
    body = AssociationRequest.from_json(resource(*items, **more))
    return shown(harness.commit(harness.registry.create_associations(body)))


def change(harness: Harness, *items: Mapping[str, Json], **more: Json) -> Json:
    body = AssociationRequest.from_json(resource(*items, **more))
    return shown(harness.commit(harness.registry.change_associations("id1", body)))


def refusal(caught: pytest.ExceptionInfo[RequestError]) -> tuple[int, str]:
    return caught.value.code, caught.value.message


def invalid(name: str, detail: str) -> tuple[int, str]:
    text = f"The association specified an invalid value for property: '{name}', detail: {detail}"
    return 42212, text
