"""Notice topics that were created again or have grown while push queries read them.

One request per second describes the topics of all readers. Records of a topic that was created
again may be delivered for that time, if they follow the offsets that were read before.

Threads: one of its own, from the first reader until `close`; any may call the functions.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final

from duolog.core.errors import DuologError
from duolog.runtime.sql.fanout.errors import TopicReplaced
from duolog.runtime.sql.fanout.feed import Feed
from duolog.runtime.sql.fanout.offset_reader import TopicOffsets
from duolog.runtime.topic_states import TopicState

logger: Final = logging.getLogger(__name__)

THREAD: Final = "duolog-push-topics"
_EVERY_S: Final = 1.0


class TopicWatch:
    """Watches the topics of readers.

    Args:
        offsets: describes topics.
        feeds: returns the readers that run.
    """

    def __init__(self, offsets: TopicOffsets, feeds: Callable[[], Sequence[Feed]]) -> None:
        self._offsets = offsets
        self._feeds = feeds
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    def start(self) -> None:
        """Watch the topics. Does nothing if they are watched, or after `close`."""
        with self._lock:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._run, name=THREAD, daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop watching, after a request that is under way."""
        with self._lock:
            self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(_EVERY_S):
            try:
                self._look()
            except Exception:
                # Without this thread, records of other topics would pass for those that were read.
                logger.exception("cannot describe the topics of push queries")

    def _look(self) -> None:
        feeds = self._feeds()
        states = self._offsets.states({feed.source.topic for feed in feeds})
        for feed in feeds:
            state = states[feed.source.topic]
            # The reader itself reports topics that cannot be read.
            if isinstance(state, TopicState):
                try:
                    adapt(feed, state, self._offsets)
                except DuologError as error:
                    logger.warning("cannot read %s: %s", feed.source.topic, error)


def adapt(feed: Feed, state: TopicState, offsets: TopicOffsets) -> bool:
    """Let a reader read the partitions that were added.

    Return false, after the reader has failed, if its topic was created again.

    Raises:
        KafkaError: the offsets of the new partitions cannot be read.
    """
    topic = feed.source.topic
    if not state.is_same(feed.topic_id):
        feed.fail(TopicReplaced(topic))
        return False
    added = state.partitions - set(feed.partitions)
    if added:
        feed.add_partitions(offsets.first(topic, added))
    return True
