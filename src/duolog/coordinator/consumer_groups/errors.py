"""Errors of consumer groups of the new protocol, with Kafka's error codes."""

from duolog.coordinator.errors import GroupError


class UnsupportedVersion(GroupError):
    """The request is older than the protocol of the group's members."""

    CODE = 35


class GroupMaxSizeReached(GroupError):
    """The group has as many members as it may have."""

    CODE = 81


class FencedMemberEpoch(GroupError):
    """The member is at another epoch than the group knows; it must give up all and join again."""

    CODE = 110


class UnreleasedInstanceId(GroupError):
    """The member that has this group instance id is still in the group."""

    CODE = 111


class UnsupportedAssignor(GroupError):
    """The broker has no assignor of this name."""

    CODE = 112


class StaleMemberEpoch(GroupError):
    """The member has been given another epoch, of which it has not heard yet."""

    CODE = 113


class InvalidRegularExpression(GroupError):
    """The subscription is not a valid RE2 expression."""

    CODE = 128
