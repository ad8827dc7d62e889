"""IncrementalAlterConfigs, API key 44, versions 0-1.

Behaviour: changes single configs of a topic, a group, a subscription of clients' metrics, this
broker or all brokers (the empty name); what is not named stays. All changes of a resource are made,
or none. Levels of loggers are changed for as long as the broker runs.

    0 SET    1 DELETE (back to the default)    2 APPEND, 3 SUBTRACT (of lists)

v1  flexible

Source: Kafka `ConfigurationControlManager.incrementalAlterConfigs`, KIP-339.
"""

from functools import partial
from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.configs.alter_requests import AlteredResource, AlterRequest, alter_resources
from duolog.broker.configs.editing import Operation, edited
from duolog.broker.configs.resources import BROKER_LOGGER
from duolog.broker.controller import Change
from duolog.broker.requests.api import Api

if TYPE_CHECKING:
    from kio.schema.incremental_alter_configs.v0.request import (
        IncrementalAlterConfigsRequest as Oldest,
    )
    from kio.schema.incremental_alter_configs.v1.request import (
        IncrementalAlterConfigsRequest as Newest,
    )


_CHECKS = checks_of(44)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    configs = context.broker.configs

    asked_for: AlterRequest[Operation] = request

    def prepare(resource: AlteredResource[Operation]) -> Change | None:
        name = resource.resource_name
        if resource.resource_type == BROKER_LOGGER:
            configs.loggers.alter(name, resource.configs, validate_only=request.validate_only)
            return None
        kind = configs.kind(resource.resource_type)
        asked = edited(kind.configs(name), resource.configs, partial(kind.base_of_list, name))
        return kind.changing(name, asked)

    alter_resources(asked_for, context, _CHECKS, prepare)


API = Api(key=44, name="IncrementalAlterConfigs", versions=range(2), handle=handle, secret=True)
