"""The members of a consumer group, as a broker describes it.

`list_groups` is the older one of two ways to ask. With `describe_consumer_groups`, librdkafka 2.16
aborts the process if a question has timed out and a broker comes back (`rd_kafka_enq_once…`).
"""

import warnings
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient, GroupMember

_DEPRECATED: Final = r"list_groups\(\) is deprecated"
"""Its warning fails the tests of programs that turn warnings into errors."""


def members_of(admin: "AdminClient", group: str, timeout_s: float) -> "list[GroupMember]":
    """Return the members of a group; none if it does not exist.

    Raises:
        KafkaException: no broker answers, or it refuses.
    """
    warnings.filterwarnings("ignore", _DEPRECATED, DeprecationWarning)
    return [member for found in admin.list_groups(group, timeout_s) for member in found.members]
