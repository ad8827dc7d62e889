"""DescribeAcls, API key 29, versions 1-3.

Behaviour: SECURITY_DISABLED, as from a Kafka without an authorizer.

v2  flexible       v3 user resources

Source: Kafka `AclApis.handleDescribeAcls`.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.requests.api import Api
from duolog.broker.requests.no_authorizer import SECURITY_DISABLED

if TYPE_CHECKING:
    from kio.schema.describe_acls.v1.request import DescribeAclsRequest as Oldest
    from kio.schema.describe_acls.v3.request import DescribeAclsRequest as Newest


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    del request
    context.reply(SECURITY_DISABLED)


API = Api(key=29, name="DescribeAcls", versions=range(1, 4), handle=handle)
