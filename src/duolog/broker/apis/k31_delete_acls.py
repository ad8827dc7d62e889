"""DeleteAcls, API key 31, versions 1-3.

Behaviour: each filter has its own result, with the rules that it deletes. The answer comes when
all are durably deleted. It needs ALTER on the cluster. Without an authorizer: SECURITY_DISABLED.

v2  flexible       v3 user resources

Source: Kafka `AclApis.handleDeleteAcls`, `AclControlManager`.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.acl_fields import delete_filter, deleted
from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.errors import kafka_code
from duolog.broker.requests.api import Api
from duolog.broker.requests.no_authorizer import SECURITY_DISABLED
from duolog.protocol.error_codes import ErrorCode
from duolog.security.authorization.acls import Acl
from duolog.security.changes.acls import filter_problem, matching
from duolog.security.changes.problem import Problem
from duolog.security.records.records import AclChange

if TYPE_CHECKING:
    from kio.schema.delete_acls.v1.request import DeleteAclsRequest as Oldest
    from kio.schema.delete_acls.v3.request import DeleteAclsRequest as Newest


(_CLUSTER,) = checks_of(31)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    security = context.broker.security
    if context.authorizer is None:
        result = {**SECURITY_DISABLED, "matching_acls": []}
        context.reply({"filter_results": [result] * len(request.filters)})
        return
    _CLUSTER.ensure(context)
    found: list[list[Acl] | Problem] = []
    for row in request.filters:
        wanted = delete_filter(row)
        found.append(filter_problem(wanted) or sorted(matching(security.state, wanted)))
    going = dict.fromkeys(acl for row in found if isinstance(row, list) for acl in row)

    def done(error: Exception | None) -> None:
        results = [_result(row) for row in found]
        if error is not None:
            code, message = kafka_code(error)
            results = [{"error_code": code, "error_message": message, "matching_acls": []}]
            results *= len(found)
        context.reply({"filter_results": results})

    security.append(context.identity, [AclChange(acl, present=False) for acl in going], done)


def _result(row: list[Acl] | Problem) -> dict[str, object]:
    if isinstance(row, Problem):
        return {"error_code": row.code, "error_message": row.message, "matching_acls": []}
    return {
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "matching_acls": deleted(row),
    }


API = Api(key=31, name="DeleteAcls", versions=range(1, 4), handle=handle)
