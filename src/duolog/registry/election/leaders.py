"""Find the leader's URL by describing the group.

The answer is remembered until a request to the leader fails. Thread: any; calls may block for some
milliseconds, or until the timeout if no broker answers.

`list_groups` is the older one of two ways to ask. With `describe_consumer_groups`, librdkafka 2.16
aborts the process if a question has timed out and a broker comes back (`rd_kafka_enq_once…`).
"""

import logging
import threading
import warnings
from typing import Final, cast

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from duolog.coordinator.consumer_groups.consumer_bytes import PartitionsByTopic, read_assignment
from duolog.coordinator.errors import InconsistentGroupProtocol
from duolog.registry.store.clients import KafkaOptions

logger = logging.getLogger(__name__)

_TIMEOUT_S: Final = 5.0
_DEPRECATED: Final = r"list_groups\(\) is deprecated"
"""Its warning fails the tests of programs that turn warnings into errors."""


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
            warnings.filterwarnings("ignore", _DEPRECATED, DeprecationWarning)
            found = self._admin.list_groups(self._options.group, _TIMEOUT_S)
        except KafkaException as error:
            logger.warning("cannot find the leader", extra={"reason": str(error)})
            return None
        for member in (member for group in found for member in group.members):
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
