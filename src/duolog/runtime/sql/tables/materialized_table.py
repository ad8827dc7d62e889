"""One table, followed from its topic.

Threads: any.
"""

import threading
from collections.abc import Mapping, Sequence

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import Message

from duolog.core.errors import KafkaError
from duolog.ksql.catalog.catalog import SourceInfo
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.shared_attempt import SharedAttempt
from duolog.runtime.sql.tables.progress import Progress
from duolog.runtime.sql.tables.table_rows import TableRows
from duolog.runtime.sql.tables.topic_follower import TopicFollower
from duolog.security.clients.brokers import Brokers


class MaterializedTable:
    """Rows of a table that follow its topic, after `ensure_started`.

    Args:
        source: a table with one topic.
        brokers: the brokers of the cluster.
        checked: decode each value when it arrives; see `stored_rows`.

    Raises:
        SqlError: its format is not supported.
    """

    def __init__(self, source: SourceInfo, brokers: Brokers, *, checked: bool = False) -> None:
        self.source = source
        self.rows = TableRows(source, checked=checked)
        self.moment = threading.Lock()
        """Held by an answer that stops the table at given offsets."""
        self.is_outdated = False
        """True if the topic was created again."""
        self.complete_at_s: float | None = None
        """Latest known time, by `time.monotonic`, before which all commits are in the rows."""
        self._brokers = brokers
        self._start = SharedAttempt(self._opened)
        self._lock = threading.Lock()
        self._started: TopicFollower | None = None
        self._is_closed = False

    def ensure_started(self) -> None:
        """Open the topic and start to follow it. Does nothing if it is followed.

        Threads that call it while the topic is being opened share that attempt.

        Raises:
            BrokerUnavailable, KafkaError: the topic cannot be opened, or the table is closed.
        """
        if self._started is None:
            self._start.get()

    @property
    def follower(self) -> TopicFollower:
        """The follower of the topic, once it is started."""
        assert self._started is not None
        return self._started

    def is_lost(self, error: KafkaError) -> bool:
        """Return true if the rows cannot be brought up to date any more after an error.

        After others, such as those of a broker that restarts, the topic is followed as before.
        """
        if self.follower.has_failed:
            return True
        is_its_own = f'"{self.source.topic}"' in error.message
        return is_its_own and error.code == ClientError.UNKNOWN_TOPIC_OR_PART

    def reached(self) -> Mapping[int, int]:
        """Return the first offset of each partition that is not in the rows."""
        return self.follower.reached()

    def progress(self) -> Progress | None:
        """Return the progress of the first read of the topic; None before it is opened."""
        return None if self._started is None else self._started.progress()

    def end(self) -> None:
        """Stop soon, without waiting."""
        if self._started is not None:
            self._started.end()

    def close(self) -> None:
        """Stop. Does nothing if closed."""
        with self._lock:
            self._is_closed = True
        if self._started is not None:
            self._started.close()

    def _opened(self) -> TopicFollower:
        dropped = BrokerUnavailable(f"cannot read {self.source.name}: its rows were dropped")
        if self._is_closed:
            raise dropped
        follower = TopicFollower(self.source.topic, self._brokers, self.rows.lock, self._apply)
        follower.start()
        self.rows.expect(follower.records_at_start)
        if not self._keeps(follower):
            follower.close()
            raise dropped
        return follower

    def _keeps(self, follower: TopicFollower) -> bool:
        """Keep a follower; return false if the table was closed while the topic was opened."""
        with self._lock:
            if not self._is_closed:
                self._started = follower
            return not self._is_closed

    def _apply(self, messages: Sequence[Message]) -> None:
        self.rows.take_all(messages)
        self.rows.expire()
