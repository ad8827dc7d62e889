"""AlterUserScramCredentials, API key 51, version 0.

Behaviour: each user has its own result. A user that is in a request twice is not altered, even if
the mechanisms differ: its result is DUPLICATE_RESOURCE. Clients send salted passwords, of which
keys are computed and stored. The answer comes when the change is durable and counts. It needs ALTER
on the cluster.

Source: Kafka `ScramControlManager.alterCredentials`, KIP-554.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.errors import kafka_code
from duolog.broker.requests.api import Api
from duolog.protocol.error_codes import ErrorCode
from duolog.security.changes.problem import Problem
from duolog.security.changes.scram import Deletion, Upsertion, alter_credentials

if TYPE_CHECKING:
    from kio.schema.alter_user_scram_credentials.v0.request import (
        AlterUserScramCredentialsRequest as Request,
    )


(_CLUSTER,) = checks_of(51)


def handle(request: "Request", context: RequestContext) -> None:
    security = context.broker.security
    if not _CLUSTER.allows(context):
        refused = Problem(_CLUSTER.code, _CLUSTER.refusal(context).message)
        users = dict.fromkeys(
            [row.name for row in request.deletions] + [row.name for row in request.upsertions]
        )
        context.reply({"results": [_result(user, refused) for user in users]})
        return
    altered = alter_credentials(
        security.state,
        [Deletion(row.name, row.mechanism) for row in request.deletions],
        [
            Upsertion(
                row.name,
                row.mechanism,
                row.iterations,
                bytes(row.salt),
                bytes(row.salted_password),
            )
            for row in request.upsertions
        ],
    )

    def done(error: Exception | None) -> None:
        failed = None
        if error is not None:
            code, message = kafka_code(error)
            failed = Problem(code, message or "")
        results = [_result(user, found or failed) for user, found in altered.results.items()]
        context.reply({"results": results})

    security.append(context.identity, [*altered.changes, *altered.revoked], done)


def _result(user: str, problem: Problem | None) -> dict[str, object]:
    if problem is None:
        return {"user": user, "error_code": ErrorCode.NONE, "error_message": None}
    return {"user": user, "error_code": problem.code, "error_message": problem.message}


API = Api(key=51, name="AlterUserScramCredentials", versions=range(1), handle=handle, secret=True)
