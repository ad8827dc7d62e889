"""Associations of topics with subjects."""

from dataclasses import replace

from duolog.registry.operations.asked import AnyDecision, Asked, choice
from duolog.registry.records.values import Lifecycle
from duolog.registry.rules.answers import Answer
from duolog.registry.rules.association_requests import batch_of_queries, batch_of_requests


def associations_of_subject(asked: Asked) -> Answer:
    return asked.seen.associations_of_subject(
        asked.readable,
        resource_type=asked.query.text("resourceType"),
        association_types=asked.query.texts("associationType"),
        lifecycle=choice(Lifecycle, asked.query.text("lifecycle")),
        page=asked.page,
    )


def associations_of_resource(asked: Asked) -> Answer:
    path = asked.call.path
    return asked.seen.associations_of_resource(
        path["namespace"],
        path["resource"],
        resource_type=asked.query.text("resourceType"),
        association_types=asked.query.texts("associationType"),
        lifecycle=choice(Lifecycle, asked.query.text("lifecycle")),
        page=asked.page,
    )


def associations_of_resource_id(asked: Asked) -> Answer:
    return asked.seen.associations_of_resource_id(
        asked.call.path["resource_id"],
        resource_type=asked.query.text("resourceType"),
        association_types=asked.query.texts("associationType"),
        lifecycle=choice(Lifecycle, asked.query.text("lifecycle")),
        page=asked.page,
    )


def associations_of_many(asked: Asked) -> Answer:
    queries = batch_of_queries(asked.call.body)
    return asked.seen.find_associations(queries, schemas=asked.flag("includeSchemas"))


def create_associations(asked: Asked) -> AnyDecision:
    with asked.allows.concealing():
        return asked.rules.create_associations(
            asked.association, context=asked.text("context"), dry_run=asked.flag("dryRun")
        )


def put_associations(asked: Asked) -> AnyDecision:
    with asked.allows.concealing():
        return asked.rules.change_associations(
            asked.call.path["resource_id"],
            asked.association,
            context=asked.text("context"),
            dry_run=asked.flag("dryRun"),
        )


def delete_associations(asked: Asked) -> AnyDecision:
    resource_id = asked.call.path["resource_id"]
    found = asked.rules.associations_of_resource_id(resource_id)
    asked.allows.delete_associations(resource_id, [row.value for row in found])
    return asked.rules.delete_associations(
        resource_id,
        resource_type=asked.query.text("resourceType"),
        association_types=asked.query.texts("associationType"),
        cascade=asked.flag("cascadeLifecycle"),
        dry_run=asked.flag("dryRun"),
    )


def change_associations(asked: Asked) -> AnyDecision:
    requests = batch_of_requests(asked.call.body)
    asked.ensure_associations(requests)
    decision = asked.rules.apply_batch(
        requests, context=asked.text("context"), dry_run=asked.flag("dryRun")
    )
    subjects = asked.subjects_of(requests)
    return replace(decision, answer=asked.allows.concealed(decision.answer, subjects))
