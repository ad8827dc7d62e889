"""Compares the leader epoch that a client knows with the broker's.

Source: Kafka `Partition.checkCurrentLeaderEpoch`, KIP-320.
"""

from duolog.protocol.error_codes import ErrorCode

NO_EPOCH = -1


def check_leader_epoch(asked: int, current: int) -> ErrorCode:
    """Return the error for a request that was made under the epoch `asked`."""
    if asked in {NO_EPOCH, current}:
        return ErrorCode.NONE
    if asked > current:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    return ErrorCode.FENCED_LEADER_EPOCH
