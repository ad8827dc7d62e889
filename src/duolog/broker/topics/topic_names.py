"""Refuse invalid topic names with the broker's errors; `core.names` has the rules."""

from typing import Final

from duolog.broker.errors import InvalidTopic
from duolog.core.names import wrong_topic_name
from duolog.security.authorization.acl_authorizer import SECURITY_TOPIC

OFFSETS_TOPIC: Final = "__consumer_offsets"
INTERNAL_TOPICS: Final = frozenset({OFFSETS_TOPIC, "__transaction_state", SECURITY_TOPIC})


def check_topic_name(name: str) -> None:
    """Refuse invalid topic names, above all those that could be a path.

    Raises:
        InvalidTopic: with the reason.
    """
    if wrong := wrong_topic_name(name):
        raise InvalidTopic(wrong)
