"""Names that Kafka and the disk take: of topics and of applications.

Source: Kafka `org.apache.kafka.common.internals.Topic`.
"""

import re
from typing import Final

from duolog.core.errors import ConfigError

TOPIC_NAME_LENGTH_MAX: Final = 249
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")
_APPLICATION_ID: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")


def wrong_topic_name(name: str) -> str:
    """Return what is wrong with the name of a topic, above all with what could be a path; empty if nothing is.

    Example:
        >>> wrong_topic_name(".."), wrong_topic_name("orders")
        ('topic name cannot be ".."', '')
    """
    if not name:
        return "topic name is empty"
    if name in {".", ".."}:
        return f'topic name cannot be "{name}"'
    if len(name) > TOPIC_NAME_LENGTH_MAX:
        return f"topic name is longer than {TOPIC_NAME_LENGTH_MAX} characters"
    if not _LEGAL.fullmatch(name):
        return f"topic name {name!a} has a character other than letters, digits, '.', '_', '-'"
    return ""


def metric_name(name: str) -> str:
    """Return what Kafka makes of a topic's name in its metrics, where two topics must not be alike."""
    return name.replace(".", "_")


def ensure_application_id(name: str) -> None:
    """Raise a ConfigError if a name cannot name an application: its checkpoint is a directory of that name."""
    if not _APPLICATION_ID.fullmatch(name):
        raise ConfigError(
            f'"{name}" cannot name an application',
            name="application id",
            value=name,
            hint="Use letters, digits, underscores, hyphens and dots, not a dot first.",
        )
