"""AlterClientQuotas, API key 49, versions 0-1.

Behaviour: sets and removes quotas of users, client ids and addresses. They are on the disk, and in
force, when the answer leaves. Each entity is changed whole or not.

v1  flexible

Source: Kafka `ClientQuotaControlManager.alterClientQuotas`, KIP-546.
"""

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.configs.client_quotas import SUBJECT, entity_of
from duolog.broker.controller import Change
from duolog.broker.errors import kafka_code
from duolog.broker.quotas.entities import Entity
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import Steps, change_each, run_steps
from duolog.core.errors import KafkaError
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.alter_client_quotas.v0.request import AlterClientQuotasRequest as Oldest
    from kio.schema.alter_client_quotas.v1.request import AlterClientQuotasRequest as Newest


class _Asked(NamedTuple):
    entity: Entity
    operations: tuple[tuple[str, float | None], ...]


(_CLUSTER,) = checks_of(49)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    _CLUSTER.ensure(context)
    run_steps(context, _steps(request, context))


def _steps(request: "Oldest | Newest", context: RequestContext) -> Steps:
    times: Counter[Entity] = Counter()
    found: dict[Entity, _Asked] = {}
    for entry in request.entries:
        item = _Asked(
            entity_of((part.entity_type, part.entity_name) for part in entry.entity),
            tuple((op.key, None if op.remove else op.value) for op in entry.ops),
        )
        times[item.entity] += 1
        # An entity that is named twice has one answer, as in Kafka.
        found[item.entity] = item
        yield None
    _change(context, list(found.values()), times, validate_only=request.validate_only)


def _change(
    context: RequestContext, items: list[_Asked], times: Counter[Entity], *, validate_only: bool
) -> None:
    def prepare(item: _Asked) -> Change | None:
        operations = dict(item.operations)
        if times[item.entity] > 1 or len(operations) < len(item.operations):
            raise KafkaError(
                "an entity, or a quota of it, is in the request twice",
                code=ErrorCode.INVALID_REQUEST,
            )
        change = context.broker.quotas.changing(item.entity, operations)
        return None if validate_only else change

    def done(item: _Asked, error: Exception | None) -> dict[str, object]:
        code, message = (ErrorCode.NONE, None) if error is None else kafka_code(error)
        return {
            "error_code": code,
            "error_message": message,
            "entity": [{"entity_type": kind, "entity_name": name} for kind, name in item.entity],
        }

    change_each(
        context,
        items,
        lambda item: (SUBJECT, partial(prepare, item)),
        done,
        lambda results: context.reply({"entries": results}),
    )


API = Api(key=49, name="AlterClientQuotas", versions=range(2), handle=handle)
