"""Errors of the group coordinator, with Kafka's error codes.

Source: Kafka `org.apache.kafka.common.protocol.Errors`.
"""

from typing import ClassVar, Final

from duolog.core.errors import KafkaError

NONE: Final = 0
UNKNOWN_TOPIC_OR_PARTITION: Final = 3
OFFSET_METADATA_TOO_LARGE: Final = 12
NOT_COORDINATOR: Final = 16
UNKNOWN_MEMBER_ID: Final = 25
REBALANCE_IN_PROGRESS: Final = 27
NON_EMPTY_GROUP: Final = 68
GROUP_ID_NOT_FOUND: Final = 69
MEMBER_ID_REQUIRED: Final = 79
GROUP_MAX_SIZE_REACHED: Final = 81
FENCED_INSTANCE_ID: Final = 82
GROUP_SUBSCRIBED_TO_TOPIC: Final = 86
UNSTABLE_OFFSET_COMMIT: Final = 88


class GroupError(KafkaError):
    """A request that a group refuses; the code is the class's own."""

    CODE: ClassVar[int]
    RETRIABLE: ClassVar[bool] = False

    def __init__(self, message: str) -> None:
        super().__init__(message, code=self.CODE, retriable=self.RETRIABLE)


class CoordinatorLoadInProgress(GroupError):
    """The state is still being replayed from `__consumer_offsets`."""

    CODE = 14
    RETRIABLE = True


class CoordinatorNotAvailable(GroupError):
    """Something that the coordinator needs for this request failed."""

    CODE = 15
    RETRIABLE = True


class IllegalGeneration(GroupError):
    """The group is at another generation."""

    CODE = 22


class InconsistentGroupProtocol(GroupError):
    """No protocol that all members support, or another protocol type."""

    CODE = 23


class InvalidGroupId(GroupError):
    """The group id is empty, or too long for a record."""

    CODE = 24


class UnknownMemberId(GroupError):
    """The group has no such member."""

    CODE = UNKNOWN_MEMBER_ID


class InvalidSessionTimeout(GroupError):
    """The session timeout lies outside of what the broker allows."""

    CODE = 26


class InvalidRequest(GroupError):
    """A text in the request is too long for a record."""

    CODE = 42


class RebalanceInProgress(GroupError):
    """The member must join again."""

    CODE = REBALANCE_IN_PROGRESS


class NonEmptyGroup(GroupError):
    """The group has members."""

    CODE = NON_EMPTY_GROUP


class GroupIdNotFound(GroupError):
    """There is no such group."""

    CODE = GROUP_ID_NOT_FOUND


class FencedInstanceId(GroupError):
    """Another member took over this group instance id."""

    CODE = FENCED_INSTANCE_ID
