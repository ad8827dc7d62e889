"""Validate names of topics and applications, which also become file names.

Source: Kafka `org.apache.kafka.common.internals.Topic`.
"""

import re
from typing import Final

from duolog.core.errors import ConfigError

TOPIC_NAME_LENGTH_MAX: Final = 249
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")
_APPLICATION_ID: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")


def wrong_topic_name(name: str) -> str:
    """Return the problem with a topic name, such as one that could be a path; empty if it is valid.

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
    """Return the form of a topic name in Kafka's metrics, which must be unique among topics."""
    return name.replace(".", "_")


def ensure_application_id(name: str) -> None:
    """Raise a ConfigError if a name is not a valid application id: it names a directory."""
    if not _APPLICATION_ID.fullmatch(name):
        raise ConfigError(
            f'"{name}" cannot name an application',
            name="application id",
            value=name,
            hint="Use letters, digits, underscores, hyphens and dots, not a dot first.",
        )
