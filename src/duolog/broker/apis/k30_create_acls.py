"""CreateAcls, API key 30, versions 1-3.

Behaviour: SECURITY_DISABLED for each, as from a Kafka without an authorizer.

v2  flexible       v3 user resources

Source: Kafka `AclApis.handleCreateAcls`.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.requests.api import Api
from duolog.broker.requests.no_authorizer import SECURITY_DISABLED

if TYPE_CHECKING:
    from kio.schema.create_acls.v1.request import CreateAclsRequest as Oldest
    from kio.schema.create_acls.v3.request import CreateAclsRequest as Newest


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    context.reply({"results": [SECURITY_DISABLED] * len(request.creations)})


API = Api(key=30, name="CreateAcls", versions=range(1, 4), handle=handle)
