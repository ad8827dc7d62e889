"""The transactions of a query, for its launcher; without exactly-once results most do nothing.

`exactly_once.transactions` decides what counts. This module supplies the kernel, the settings of
clients and the names, and converts errors. Threads: one at a time.
"""

import contextlib
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from duolog.engine.changelog.marker_topic import ensure_is_marker
from duolog.engine.exactly_once.epochs import ensure_goes_on, marker_topic
from duolog.engine.exactly_once.transactions import Kernel, Transactions
from duolog.engine.jvm.masters import is_one_jvm
from duolog.engine.query.launch.launch_context import LaunchContext
from duolog.engine.query.launch.triggers import Trigger
from duolog.engine.spark.failures import JVM_IS_GONE
from duolog.engine.topics.topic_reader import TopicReader


@dataclass(frozen=True, slots=True)
class QueryTransactions:
    """The transactions of one application."""

    context: LaunchContext

    def open(self, trigger: Trigger, record_batch_bytes_max: int | None) -> None:
        """Check that the checkpoint matches the end of the committed results, and write after them.

        Fences earlier writers with this name.

        Raises:
            CheckpointMismatch: results were committed that the checkpoint does not know of.
            ChangelogMismatch: the marker topic belongs to something else.
            QueryFailed: no broker answers, or it refuses transactions.
        """
        if not self.context.config.exactly_once:
            return
        self._ensure_marks()
        settings = self.context.clients.producer(trigger, record_batch_bytes_max)
        clustered = not is_one_jvm(self.context.config.master)
        with self.context.failing():
            self._with(settings).open(socket.gethostname(), clustered=clustered)

    def close(self) -> None:
        """Abort what is not committed, so that readers need not wait for it."""
        if self.context.config.exactly_once:
            with contextlib.suppress(*JVM_IS_GONE):
                self.context.session.kernel("Transactions").close(self.context.spark_dir)

    def take_over(self, query: str, epoch: int) -> None:
        """Let the checkpoint continue after an epoch that a query committed exactly once.

        Raises:
            CheckpointMismatch: other results were committed after it.
            QueryFailed: no broker answers.
        """
        checkpoint = self.context.checkpoint
        with self.context.failing():
            marker = self._with(self.context.clients.common).marker()
        if marker.query == query and marker.epoch <= epoch:
            checkpoint.take_over(marker.query, marker.epoch)
        else:
            ensure_goes_on(checkpoint, marker, marker_topic(self.context.name_in_kafka))

    def take_over_what_was_begun(self) -> None:
        """Let a new checkpoint continue after the results committed under its name.

        Raises:
            QueryFailed: no broker answers.
        """
        if self.context.config.exactly_once:
            with self.context.failing():
                self._with(self.context.clients.common).take_over_what_was_begun()

    def commit_decided(self) -> None:
        """Commit what executors wrote in an epoch that counts, if a crash prevented that.

        Raises:
            CheckpointMismatch: the broker has aborted it.
            ChangelogMismatch: the marker topic belongs to something else.
            QueryFailed: no broker answers.
        """
        self._ensure_marks()
        with self.context.failing():
            self._with(self.context.clients.common).ensure_committed()

    def _ensure_marks(self) -> None:
        context = self.context
        topics = TopicReader(context.config.bootstrap_servers, context.config.python_clients)
        ensure_is_marker(context.config, topics, context.name_in_kafka, context.application_id)

    def _with(self, settings: Mapping[str, str]) -> Transactions:
        """Return the transactions, with these settings for Kafka's clients."""
        context = self.context
        kernel = cast("Kernel", context.session.kernel("Transactions"))
        client = context.java_map(settings)
        return Transactions(kernel, client, context.checkpoint, context.name_in_kafka)
