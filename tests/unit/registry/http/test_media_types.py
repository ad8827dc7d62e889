"""Content negotiation, as JAX-RS does it for the registry's types."""

import pytest

from duolog.registry.http.media_types import (
    JSON,
    UNVERSIONED,
    V1,
    MalformedAccept,
    NotAcceptable,
    is_consumed,
    produced_for,
)


@pytest.mark.parametrize(
    ("accept", "produced"),
    [
        (None, V1),
        ("", V1),
        ("*/*", V1),
        ("application/*", V1),
        (V1, V1),
        (UNVERSIONED, UNVERSIONED),
        (JSON, JSON),
        ("APPLICATION/JSON", JSON),
        (f"{V1}, {UNVERSIONED}, {JSON}", V1),
        (f"{JSON}, {UNVERSIONED}, {V1}", V1),
        (f"{V1};q=0.1, {JSON};q=0.9", JSON),
        (f"{JSON};q=1.0, */*;q=0.5", JSON),
        ("text/html, */*;q=0.1", V1),
        (f"{V1};q=0, */*", UNVERSIONED),
        ("application/*;q=0.2, application/json;q=0.3", JSON),
        ("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", V1),
        ("application/json; charset=utf-8", JSON),
        ("application/json,", JSON),
    ],
)
def test_the_best_type_of_the_client_is_produced(accept: str | None, produced: str) -> None:
    assert produced_for(accept) == produced


@pytest.mark.parametrize(
    "accept", ["text/html", "application/vnd.schemaregistry.v2+json", "*/*;q=0", "text/*"]
)
def test_a_client_that_accepts_no_type_of_the_registry_gets_none(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        produced_for(accept)


@pytest.mark.parametrize(
    "accept", ["json", "application/", "a/b/c", "*/json", "*/*;q=2", "*/*;q=x", "a" * 5000]
)
def test_a_header_that_is_not_a_list_of_types_is_malformed(accept: str) -> None:
    with pytest.raises(MalformedAccept):
        produced_for(accept)


@pytest.mark.parametrize(
    ("content_type", "consumed"),
    [
        (None, True),
        (V1, True),
        (UNVERSIONED, True),
        ("Application/JSON; charset=UTF-8", True),
        ("application/octet-stream", True),
        ("text/plain", False),
        ("application/x-www-form-urlencoded", False),
        ("multipart/form-data; boundary=x", False),
        ("", False),
    ],
)
def test_bodies_have_one_of_the_registrys_types(
    content_type: str | None, *, consumed: bool
) -> None:
    assert is_consumed(content_type) is consumed
