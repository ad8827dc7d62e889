"""Refuse invalid topic names with the broker's errors; `core.names` has the rules."""

from typing import Final

from duolog.broker.errors import InvalidTopic
from duolog.core.names import metric_name, wrong_topic_name
from duolog.security.authorization.acl_authorizer import SECURITY_TOPIC

OFFSETS_TOPIC: Final = "__consumer_offsets"
INTERNAL_TOPICS: Final = frozenset({OFFSETS_TOPIC, "__transaction_state", SECURITY_TOPIC})
_LIKE_INTERNAL: Final = frozenset(map(metric_name, INTERNAL_TOPICS))


def check_topic_name(name: str) -> None:
    """Refuse invalid topic names, above all those that could be a path.

    Raises:
        InvalidTopic: with the reason.
    """
    if wrong := wrong_topic_name(name):
        raise InvalidTopic(wrong)
    if name not in INTERNAL_TOPICS and metric_name(name) in _LIKE_INTERNAL:
        # The broker could not create its own one any more.
        raise InvalidTopic(f'topic name "{name}" is too much like that of an internal topic')
