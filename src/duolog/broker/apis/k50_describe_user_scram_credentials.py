"""DescribeUserScramCredentials, API key 50, version 0.

Behaviour: mechanisms and iterations of users, never their keys. A user without a credential is
RESOURCE_NOT_FOUND, one that is named twice DUPLICATE_RESOURCE. It needs DESCRIBE on the cluster.

Source: Kafka `ScramImage.describe`, KIP-554.
"""

from collections import Counter
from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.describe_user_scram_credentials.v0.request import (
        DescribeUserScramCredentialsRequest as Request,
    )

    from duolog.security.credentials.scram import ScramCredential, ScramMechanism


(_CLUSTER,) = checks_of(50)


def handle(request: "Request", context: RequestContext) -> None:
    _CLUSTER.ensure(context)
    users = context.broker.security.state.users
    times = Counter(user.name for user in request.users or ()) or dict.fromkeys(sorted(users), 1)
    results = [_result(name, count, users.get(name)) for name, count in times.items()]
    context.reply({"error_message": None, "results": results})


def _result(
    name: str, times: int, credentials: "dict[ScramMechanism, ScramCredential] | None"
) -> dict[str, object]:
    if times > 1:
        return _problem(name, ErrorCode.DUPLICATE_RESOURCE, "is in the request twice")
    if credentials is None:
        return _problem(name, ErrorCode.RESOURCE_NOT_FOUND, "does not exist")
    return {
        "user": name,
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "credential_infos": [
            {"mechanism": mechanism, "iterations": credentials[mechanism].iterations}
            for mechanism in sorted(credentials)
        ],
    }


def _problem(name: str, code: int, problem: str) -> dict[str, object]:
    return {"user": name, "error_code": code, "error_message": f'user "{name}" {problem}'}


API = Api(key=50, name="DescribeUserScramCredentials", versions=range(1), handle=handle)
