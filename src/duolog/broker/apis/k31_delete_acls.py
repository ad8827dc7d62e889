"""DeleteAcls, API key 31, versions 1-3.

Behaviour: SECURITY_DISABLED for each filter, as from a Kafka without an authorizer.

v2  flexible       v3 user resources

Source: Kafka `AclApis.handleDeleteAcls`.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.requests.api import Api
from duolog.broker.requests.no_authorizer import SECURITY_DISABLED

if TYPE_CHECKING:
    from kio.schema.delete_acls.v1.request import DeleteAclsRequest as Oldest
    from kio.schema.delete_acls.v3.request import DeleteAclsRequest as Newest


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    context.reply({"filter_results": [SECURITY_DISABLED] * len(request.filters)})


API = Api(key=31, name="DeleteAcls", versions=range(1, 4), handle=handle)
