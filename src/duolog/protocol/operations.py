"""Authorized operations on a resource, as the bit fields in Metadata and similar responses.

Without an authorizer, every client may perform all operations of a resource.

Source: Kafka `AclOperation`, `AuthHelper.authorizedOperations`; KIP-430.
"""

from typing import Final

OPERATIONS_NOT_ASKED: Final = -(2**31)

_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE = (1 << code for code in range(3, 9))
_CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE = (
    1 << code for code in range(9, 13)
)
_CONFIGS: Final = _DESCRIBE_CONFIGS | _ALTER_CONFIGS

TOPIC_OPERATIONS: Final = _READ | _WRITE | _CREATE | _DELETE | _ALTER | _DESCRIBE | _CONFIGS
CLUSTER_OPERATIONS: Final = (
    _CREATE | _ALTER | _DESCRIBE | _CLUSTER_ACTION | _CONFIGS | _IDEMPOTENT_WRITE
)
GROUP_OPERATIONS: Final = _READ | _DELETE | _DESCRIBE | _CONFIGS
