"""DescribeAcls, API key 29, versions 1-3.

Behaviour: the rules that match the filter, those of one resource together. It needs DESCRIBE on the
cluster. Without an authorizer: SECURITY_DISABLED.

v2  flexible       v3 user resources

Source: Kafka `AclApis.handleDescribeAcls`.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.acl_fields import describe_filter, described
from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.broker.requests.no_authorizer import SECURITY_DISABLED
from duolog.security.changes.acls import filter_problem, matching

if TYPE_CHECKING:
    from kio.schema.describe_acls.v1.request import DescribeAclsRequest as Oldest
    from kio.schema.describe_acls.v3.request import DescribeAclsRequest as Newest


(_CLUSTER,) = checks_of(29)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    if context.authorizer is None:
        context.reply(SECURITY_DISABLED)
        return
    _CLUSTER.ensure(context)
    wanted = describe_filter(request)
    if problem := filter_problem(wanted):
        context.reply_error(problem.code, problem.message)
        return
    acls = matching(context.broker.security.state, wanted)
    context.reply({"error_message": None, "resources": described(acls)})


API = Api(key=29, name="DescribeAcls", versions=range(1, 4), handle=handle)
