"""DescribeUserScramCredentials, API key 50, version 0.

Behaviour: there are no users yet: a request for all users returns none, a named user is
RESOURCE_NOT_FOUND, or DUPLICATE_RESOURCE if named twice. kafka-configs asks this whenever it
describes users.

Source: Kafka `ScramImage.describe`, KIP-554.
"""

from collections import Counter
from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.requests.api import Api
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.describe_user_scram_credentials.v0.request import (
        DescribeUserScramCredentialsRequest as Request,
    )


def handle(request: "Request", context: RequestContext) -> None:
    times = Counter(user.name for user in request.users or ())
    context.reply(
        {
            "error_message": None,
            "results": [_result(name, unique=count == 1) for name, count in times.items()],
        }
    )


def _result(name: str, *, unique: bool) -> dict[str, object]:
    code, problem = ErrorCode.RESOURCE_NOT_FOUND, "does not exist"
    if not unique:
        code, problem = ErrorCode.DUPLICATE_RESOURCE, "is in the request twice"
    return {"user": name, "error_code": code, "error_message": f'user "{name}" {problem}'}


API = Api(key=50, name="DescribeUserScramCredentials", versions=range(1), handle=handle)
