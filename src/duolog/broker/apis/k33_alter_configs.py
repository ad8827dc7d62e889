"""AlterConfigs, API key 33, versions 0-2.

Behaviour: replaces all that is set for a resource; what is not named goes back to its default. All
of a resource is changed, or nothing. Loggers cannot be changed this way. Clients use
IncrementalAlterConfigs since Kafka 2.3.

v2  flexible

Source: Kafka `ConfigAdminManager.preprocess`, `ConfigurationControlManager.legacyAlterConfigs`.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.configs.alter_requests import AlteredResource, AlterRequest, alter_resources
from duolog.broker.configs.editing import Assignment, replaced
from duolog.broker.controller import Change
from duolog.broker.requests.api import Api

if TYPE_CHECKING:
    from kio.schema.alter_configs.v0.request import AlterConfigsRequest as Oldest
    from kio.schema.alter_configs.v2.request import AlterConfigsRequest as Newest


_CHECKS = checks_of(33)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    configs = context.broker.configs

    asked_for: AlterRequest[Assignment] = request

    def prepare(resource: AlteredResource[Assignment]) -> Change:
        kind, name = configs.kind(resource.resource_type), resource.resource_name
        asked = replaced(resource.configs)
        kind.configs(name)
        return kind.changing(name, asked)

    alter_resources(asked_for, context, _CHECKS, prepare)


API = Api(key=33, name="AlterConfigs", versions=range(3), handle=handle, secret=True)
