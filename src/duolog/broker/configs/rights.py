"""The right that a resource with configs needs, by its kind.

Source: Kafka `ConfigHelper.describeConfigs`, `ControllerApis.authorizeAlterResource`.
"""

from collections.abc import Sequence

from duolog.broker.authorization.checks import Check
from duolog.broker.configs.resources import GROUP, TOPIC
from duolog.security.authorization.operations import CLUSTER_NAME


def check_of(checks: Sequence[Check], kind: int, name: str) -> tuple[Check, str]:
    """Return the check for a resource, of an API's rows for topics, groups and others."""
    topic, group, others = checks
    if kind == TOPIC:
        return topic, name
    if kind == GROUP:
        return group, name
    # A kind that does not exist is refused later; until then it counts as the broker's.
    return others, CLUSTER_NAME
