"""The response to ACL requests while no authorizer is configured."""

from collections.abc import Mapping
from typing import Final

from duolog.protocol.error_codes import ErrorCode

SECURITY_DISABLED: Final[Mapping[str, object]] = {
    "error_code": ErrorCode.SECURITY_DISABLED,
    "error_message": "no authorizer is configured",
}
