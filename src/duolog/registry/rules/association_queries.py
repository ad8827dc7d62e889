"""Reading associations.

Source: Confluent `AssociationsResource`, `AbstractSchemaRegistry.getAssociationsBy…`.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from duolog.registry.errors import RequestError, invalid_association
from duolog.registry.records.values import AssociationValue, Lifecycle
from duolog.registry.rules.answers import (
    AssociationItemAnswer,
    BatchAnswer,
    BatchResult,
    ResourceAnswer,
)
from duolog.registry.rules.association_requests import ANY_NAMESPACE, AssociationQuery
from duolog.registry.rules.basis import Basis
from duolog.registry.rules.lookup import answer_of

TOPIC: Final = "topic"


def chosen(
    values: Iterable[AssociationValue],
    resource_type: str | None,
    association_types: Sequence[str] = (),
    lifecycle: Lifecycle | None = None,
) -> list[AssociationValue]:
    """Return the associations of a kind."""
    return [
        value
        for value in values
        if (resource_type is None or value.resource_type == resource_type)
        and (not association_types or value.association_type in association_types)
        and (lifecycle is None or value.lifecycle is lifecycle)
    ]


def of_resource(basis: Basis, namespace: str | None, name: str | None) -> list[AssociationValue]:
    """Return the associations of a resource by its name; `-` means any namespace or name."""
    if name is None:
        return []
    associations = basis.state.associations
    found = associations.all() if name == ANY_NAMESPACE else associations.of_resource_name(name)
    return [
        value for value in found if namespace in {None, ANY_NAMESPACE, value.resource_namespace}
    ]


def find_batch(basis: Basis, queries: Sequence[AssociationQuery], *, schemas: bool) -> BatchAnswer:
    """Answer each query of a batch, with an error of its own if it is not valid."""
    results: list[BatchResult] = []
    for query in queries:
        try:
            results.append(BatchResult(_found(basis, query, schemas=schemas)))
        except RequestError as error:
            text = f"Error while getting associations: {error.message}"
            results.append(BatchResult(error_code=500, message=text))
    return BatchAnswer(tuple(results))


def _found(basis: Basis, query: AssociationQuery, *, schemas: bool) -> ResourceAnswer:
    _ensure_valid(query)
    kind = query.resource_type or TOPIC
    if query.resource_id:
        values = basis.state.associations.of_resource_id(query.resource_id)
    else:
        values = of_resource(basis, query.resource_namespace, query.resource_name)
    values = chosen(basis.shown(values), kind, query.association_types, query.lifecycle)
    first = values[0] if values else None
    return resource_answer(
        basis,
        ResourceAnswer(
            query.resource_name or (first.resource_name if first else None),
            query.resource_namespace or (first.resource_namespace if first else None),
            query.resource_id or (first.resource_id if first else None),
            kind,
        ),
        values,
        schemas=schemas,
    )


def resource_answer(
    basis: Basis,
    resource: ResourceAnswer,
    values: Sequence[AssociationValue],
    *,
    schemas: bool = False,
) -> ResourceAnswer:
    """Return a resource with its associations, and with the latest schemas of their subjects.

    Raises:
        RequestError: several resources share the name.
    """
    items: list[AssociationItemAnswer] = []
    for value in values:
        if (value.resource_name, value.resource_namespace, value.resource_id) != (
            resource.resource_name,
            resource.resource_namespace,
            resource.resource_id,
        ):
            raise invalid_association(
                "resourceName", "names several resources; ask for one by its resourceId"
            )
        latest = basis.versions.latest(value.subject) if schemas else None
        items.append(AssociationItemAnswer(value, None if latest is None else answer_of(latest)))
    return ResourceAnswer(
        resource.resource_name,
        resource.resource_namespace,
        resource.resource_id,
        resource.resource_type,
        tuple(items),
    )


def _ensure_valid(query: AssociationQuery) -> None:
    if not query.resource_id and not query.resource_name:
        raise invalid_association(
            "resourceId", "either resourceId or resourceName must be specified"
        )
    if query.resource_name and not query.resource_namespace:
        raise invalid_association(
            "resourceNamespace", "resourceNamespace is required when resourceName is specified"
        )
