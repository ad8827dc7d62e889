"""Find the leader's URL by describing the group.

The answer is remembered until a request to the leader fails. Thread: any; calls may block for some
milliseconds, or until the timeout if no broker answers.
"""

import logging
import threading
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from duolog.registry.store.clients import KafkaOptions

logger = logging.getLogger(__name__)

_TIMEOUT_S: Final = 5.0


class Leaders:
    """Knows the leader of a group."""

    def __init__(self, options: KafkaOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._admin: AdminClient | None = None
        self._known: str | None = None

    def url(self) -> str | None:
        """Return the leader's URL, or None if the group has no leader or no broker answers."""
        with self._lock:
            if self._known is None:
                self._known = self._ask()
            return self._known

    def forget(self, url: str | None = None) -> None:
        """Ask again next time, unless another URL has been found since."""
        with self._lock:
            if url is None or self._known == url:
                self._known = None

    def _ask(self) -> str | None:
        try:
            if self._admin is None:
                self._admin = AdminClient(self._options.client())
            group = self._options.group
            future = self._admin.describe_consumer_groups([group], request_timeout=_TIMEOUT_S)[
                group
            ]
            members = future.result(_TIMEOUT_S).members
        except (KafkaException, TimeoutError) as error:
            logger.warning("cannot find the leader", extra={"reason": str(error)})
            return None
        for member in members:
            owned = member.assignment.topic_partitions if member.assignment else ()
            if any(part.topic == self._options.topic and part.partition == 0 for part in owned):
                return str(member.client_id)
        return None
