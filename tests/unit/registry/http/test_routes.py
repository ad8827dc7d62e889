"""All endpoints of the reference have a route, and every operation has its function."""

import pytest

from duolog.registry.http.routes import (
    ENDPOINTS,
    Kind,
    MethodNotAllowed,
    PathNotFound,
    allowed_methods,
    find,
)
from duolog.registry.operations.table import IDEMPOTENT, READS, STATUS, WRITES


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda found: f"{found.method}-{found.path}")
def test_each_endpoint_is_found_by_its_own_path(endpoint) -> None:  # type: ignore[no-untyped-def]
    path = tuple(part.strip("{}") for part in endpoint.path.split("/") if part)

    found, values = find(endpoint.method, path)

    assert found is endpoint
    assert set(values) == {part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")}


def test_each_operation_has_exactly_one_function() -> None:
    of_kind = {
        kind: {found.operation for found in ENDPOINTS if found.kind is kind} for kind in Kind
    }

    assert set(READS) == of_kind[Kind.READ]
    assert set(WRITES) == of_kind[Kind.WRITE]
    assert set(WRITES) >= IDEMPOTENT
    assert set(STATUS) <= {*READS, *WRITES}


def test_a_get_answers_a_head_as_well() -> None:
    assert find("HEAD", ("subjects",))[0].operation == "list_subjects"
    with pytest.raises(MethodNotAllowed):
        find("HEAD", ("associations:batchGet",))


def test_another_method_is_refused_with_those_that_exist() -> None:
    with pytest.raises(MethodNotAllowed) as refused:
        find("PATCH", ("config", "a"))

    assert refused.value.allowed == ("DELETE", "GET", "HEAD", "OPTIONS", "PUT")
    assert allowed_methods(("config", "a")) == refused.value.allowed


@pytest.mark.parametrize(
    "path",
    [
        ("subject",),
        ("subjects", ""),
        ("subjects", "", "versions"),
        ("subjects", "a", "versions", "1", "x"),
        ("schemas", "ids"),
        ("schemas", "other"),
        ("v1", "metadata"),
        ("compatibility",),
    ],
)
def test_another_path_is_not_found(path: tuple[str, ...]) -> None:
    with pytest.raises(PathNotFound):
        find("GET", path)
