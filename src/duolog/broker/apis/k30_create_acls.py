"""CreateAcls, API key 30, versions 1-3.

Behaviour: each rule has its own result; those that exist already succeed. The answer comes when all
are durable and count. It needs ALTER on the cluster. Without an authorizer: SECURITY_DISABLED.

v2  flexible       v3 user resources

Source: Kafka `AclApis.handleCreateAcls`, `AclControlManager`.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.errors import kafka_code
from duolog.broker.requests.api import Api
from duolog.broker.requests.no_authorizer import SECURITY_DISABLED
from duolog.protocol.error_codes import ErrorCode
from duolog.security.changes.acls import WantedAcl, acl_of
from duolog.security.changes.problem import Problem
from duolog.security.records.records import AclChange

if TYPE_CHECKING:
    from kio.schema.create_acls.v1.request import CreateAclsRequest as Oldest
    from kio.schema.create_acls.v3.request import CreateAclsRequest as Newest


(_CLUSTER,) = checks_of(30)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    security = context.broker.security
    if context.authorizer is None:
        context.reply({"results": [SECURITY_DISABLED] * len(request.creations)})
        return
    _CLUSTER.ensure(context)
    wanted = [
        acl_of(
            WantedAcl(
                row.resource_type,
                row.resource_pattern_type,
                row.resource_name,
                row.principal,
                row.host,
                row.operation,
                row.permission_type,
            )
        )
        for row in request.creations
    ]
    new = dict.fromkeys(acl for acl in wanted if not isinstance(acl, Problem))
    changes = [AclChange(acl, present=True) for acl in new if acl not in security.state.acls]

    def done(error: Exception | None) -> None:
        failed = None if error is None else Problem(*_problem(error))
        results = [_result(row if isinstance(row, Problem) else failed) for row in wanted]
        context.reply({"results": results})

    security.append(context.identity, changes, done)


def _problem(error: Exception) -> tuple[int, str]:
    code, message = kafka_code(error)
    return code, message or ""


def _result(problem: Problem | None) -> dict[str, object]:
    if problem is None:
        return {"error_code": ErrorCode.NONE, "error_message": None}
    return {"error_code": problem.code, "error_message": problem.message}


API = Api(key=30, name="CreateAcls", versions=range(1, 4), handle=handle)
