"""Find the leader's URL by describing the group.

The answer is remembered until a request to the leader fails. Thread: any; calls may block for some
milliseconds, or until the timeout if no broker answers.
"""

import logging
import threading
from typing import Final, cast

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from duolog.coordinator.consumer_groups.consumer_bytes import PartitionsByTopic, read_assignment
from duolog.coordinator.errors import InconsistentGroupProtocol
from duolog.registry.election.members import members_of
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
            members = members_of(self._admin, self._options.group, _TIMEOUT_S)
        except KafkaException as error:
            logger.warning("cannot find the leader", extra={"reason": str(error)})
            return None
        for member in members:
            # The client declares the type as None.
            owned = _owned(cast("bytes", member.assignment))
            if 0 in owned.get(self._options.topic, ()):
                return str(member.client_id)
        return None


def _owned(assignment: bytes) -> PartitionsByTopic:
    try:
        return read_assignment(assignment)
    except InconsistentGroupProtocol:  # of a registry of another kind
        return {}
