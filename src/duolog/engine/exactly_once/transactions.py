"""The transactions of the driver that write each result exactly once: open, finish, close.

    open     check that the checkpoint belongs to the committed results
             ─▶ fence earlier writers ─▶ finish what was decided
             ─▶ abort the transactions that executors of earlier starts left open

The kernel runs them (`Transactions` in Java); `epochs` and `executor_transactions` decide what
counts. Errors of py4j are passed to the caller. Threads: one at a time.
"""

import contextlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from duolog.engine.checkpoint.checkpoint import Checkpoint
from duolog.engine.errors import CheckpointMismatch
from duolog.engine.exactly_once.epochs import (
    NO_EPOCH,
    Marker,
    ensure_goes_on,
    finish,
    is_behind,
    marker_topic,
    query_id,
)
from duolog.engine.exactly_once.executor_transactions import (
    Description,
    ExecutorTransaction,
    State,
    outcome,
    states_of,
)

logger: Final = logging.getLogger(__name__)


class Kernel(Protocol):
    """The Java class. `settings` is a Java map with the settings of Kafka's clients."""

    def markers(self, name: str, settings: object) -> str: ...
    def open(
        self,
        spark_dir: str,
        name: str,
        host: str,
        settings: object,
        clustered: bool,  # noqa: FBT001 - positional in Java
    ) -> str: ...
    def close(self, spark_dir: str) -> None: ...
    def mark(self, spark_dir: str, query: str, epoch: int) -> None: ...
    def endOthers(self, spark_dir: str, settings: object) -> None: ...
    def describe(self, parts: str, settings: object) -> str: ...
    def commitParts(self, parts: str, settings: object) -> None: ...
    def abortParts(self, parts: str, settings: object) -> None: ...


@dataclass(frozen=True, slots=True)
class Transactions:
    """The transactions of one application."""

    kernel: Kernel
    settings: object
    checkpoint: Checkpoint
    name: str
    """The name of the application in Kafka, unique in the cluster."""

    @property
    def topic(self) -> str:
        return marker_topic(self.name)

    @property
    def _spark_dir(self) -> str:
        return str(self.checkpoint.spark_dir)

    def marker(self) -> Marker:
        """Return the marker of the last commit, without fencing any writer."""
        return Marker.parse(json.loads(self.kernel.markers(self.name, self.settings)))

    def open(self, host: str, *, clustered: bool) -> None:
        """Start to write after the committed results, and fence earlier writers with this name.

        Raises:
            CheckpointMismatch: committed results are unknown to the checkpoint, or partly lost.
            CheckpointDamaged: the prepared entry of the last epoch cannot be read.
        """
        # Before fencing: a refused start changes nothing.
        ensure_goes_on(self.checkpoint, self.marker(), self.topic)
        found = self.kernel.open(self._spark_dir, self.name, host, self.settings, clustered)
        try:
            marker = Marker.parse(json.loads(found))
            ensure_goes_on(self.checkpoint, marker, self.topic)
            if is_behind(self.checkpoint, marker) and not self.commit_parts(marker):
                marker = self._take_back(marker)
            if finish(self.checkpoint, marker):
                logger.info("epoch %d was committed before the last end", marker.epoch)
            if marker.parts:
                self.kernel.mark(self._spark_dir, marker.query, marker.epoch)
            self.kernel.endOthers(self._spark_dir, self.settings)
        except BaseException:
            # Also after Ctrl-C: readers would wait for what is open. The original error says more
            # than any error of py4j here.
            with contextlib.suppress(Exception):
                self.close()
            raise

    def close(self) -> None:
        """Abort what is not committed, so that readers need not wait for it."""
        self.kernel.close(self._spark_dir)

    def ensure_committed(self) -> None:
        """Commit what the marker decides if there is no checkpoint from which to compute it again.

        Raises:
            CheckpointMismatch: a part of it is lost.
        """
        marker = self.marker()
        if not self.commit_parts(marker):
            raise self.lost(marker, states_of(marker.parts, self._known(marker.parts)))

    def take_over_what_was_begun(self) -> None:
        """Let a checkpoint that has not started continue after results committed under its name.

        For callers that start again deliberately and repeatedly under one name, such as rebuilds.
        Call it after `pin`.
        """
        if not query_id(self.checkpoint):
            marker = self.marker()
            if marker.epoch != NO_EPOCH:
                self.checkpoint.take_over(marker.query, marker.epoch)

    def commit_parts(self, marker: Marker) -> bool:
        """Commit what the marker decides; return whether all of its results exist, or none.

        Raises:
            CheckpointMismatch: some results exist, and others are lost.
        """
        if not marker.parts:
            return True
        states = states_of(marker.parts, self._known(marker.parts))
        match outcome(states):
            case "commit":
                self.kernel.commitParts(_as_json(marker.parts), self.settings)
                return True
            case "again":
                return False
        raise self.lost(marker, states)

    def lost(self, marker: Marker, states: Mapping[str, State]) -> CheckpointMismatch:
        """Return the error for lost results of an epoch that counts."""
        ended = ", ".join(f"{name} {state}" for name, state in states.items())
        return CheckpointMismatch(
            f"results of epoch {marker.epoch} were lost",
            query_id=self.checkpoint.directory.name,
            detail="The epoch was decided to count, but before all executors' transactions were "
            f"committed the broker aborted some after transaction.timeout.ms: {ended}.",
            hint="To compute everything again from the topics, delete the application's result "
            f"topics and run `duolog state reset {self.checkpoint.directory.name}`; or use another "
            "application id.",
        )

    def _take_back(self, marker: Marker) -> Marker:
        """Abort what is left of an epoch without results; return the marker of the epoch before."""
        logger.warning(
            "results of epoch %d were not committed within transaction.timeout.ms: it is computed "
            "again",
            marker.epoch,
        )
        states = states_of(marker.parts, self._known(marker.parts))
        left = [part for part in marker.parts if states[part.id] == "open"]
        self.kernel.abortParts(_as_json(left), self.settings)
        self.kernel.mark(self._spark_dir, marker.query, marker.epoch - 1)
        return Marker(marker.query, marker.epoch - 1)

    def _known(self, parts: tuple[ExecutorTransaction, ...]) -> dict[str, Description]:
        found: dict[str, Description] = json.loads(
            self.kernel.describe(_as_json(parts), self.settings)
        )
        return found


def _as_json(parts: tuple[ExecutorTransaction, ...] | list[ExecutorTransaction]) -> str:
    return json.dumps(
        [{"id": part.id, "producer": part.producer, "epoch": part.epoch} for part in parts]
    )
