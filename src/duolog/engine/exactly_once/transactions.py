"""The transactions in which an application writes each result once, from its process: opened, brought to an end, closed.

    open     is the checkpoint the one that the results were written with? ─▶ fence whoever wrote ─▶ finish what was decided
             ─▶ break off what executors of earlier starts have left open

The kernel has them (`Transactions` in Java); what counts is decided here, by `epochs` and `parts`. Errors of py4j are left
to whoever calls. Threads: one at a time.
"""

import contextlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

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
    ExecutorTransaction,
    State,
    outcome,
    states_of,
)

logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Transactions:
    """Those of one application. `kernel` is the class in Java, `settings` a map there, of Kafka's clients."""

    kernel: Any
    settings: Any
    checkpoint: Checkpoint
    name: str
    """Of the application in Kafka, which all of a Kafka cluster share."""

    @property
    def topic(self) -> str:
        return marker_topic(self.name)

    @property
    def _spark_dir(self) -> str:
        return str(self.checkpoint.spark_dir)

    def marker(self) -> Marker:
        """Return what was committed last. Nobody is fenced."""
        return Marker.parse(json.loads(self.kernel.markers(self.name, self.settings)))

    def open(self, host: str, *, clustered: bool) -> None:
        """Begin to write behind what was committed; whoever wrote under this name before is fenced.

        Raises:
            CheckpointMismatch: results were committed that the checkpoint does not know of, or lost in part.
            CheckpointDamaged: what Spark is to know of the last epoch cannot be read.
        """
        # Before anybody is fenced: what is refused changes nothing.
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
            with contextlib.suppress(Exception):
                self.close()
            raise

    def close(self) -> None:
        """Break off what is not committed, so that readers need not wait for it."""
        self.kernel.close(self._spark_dir)

    def ensure_committed(self) -> None:
        """Commit what the marker decides, where there is no checkpoint to compute it again from.

        Raises:
            CheckpointMismatch: not all of it is there any more.
        """
        marker = self.marker()
        if not self.commit_parts(marker):
            raise self.lost(marker, states_of(marker.parts, self._known(marker.parts)))

    def take_over_what_was_begun(self) -> None:
        """Have a checkpoint that has not begun yet go on behind whatever was committed under its name.

        For who begins anew by intent, again and again under one name, as rebuilds do. Call it behind `pin`.
        """
        if not query_id(self.checkpoint):
            marker = self.marker()
            if marker.epoch != NO_EPOCH:
                self.checkpoint.take_over(marker.query, marker.epoch)

    def commit_parts(self, marker: Marker) -> bool:
        """Commit what the marker decides; tell whether all of its results are there. If not, none is.

        Raises:
            CheckpointMismatch: some are there, and others are lost.
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
        """Return what says that results of an epoch that counts are not there."""
        ended = ", ".join(f"{name} {state}" for name, state in states.items())
        return CheckpointMismatch(
            f"results of epoch {marker.epoch} were lost",
            query_id=self.checkpoint.directory.name,
            detail="It was decided that they count, and before all executors' transactions were committed the broker "
            f"ended some by transaction.timeout.ms: {ended}.",
            hint="Compute everything again from the topics: delete the application's topics of results, and "
            f"`duolog state reset {self.checkpoint.directory.name}`; or use another application id.",
        )

    def _take_back(self, marker: Marker) -> Marker:
        """Break off what is left of an epoch of which nothing is there; return the marker of the one before."""
        logger.warning(
            "results of epoch %d were not committed before transaction.timeout.ms: it is computed again",
            marker.epoch,
        )
        states = states_of(marker.parts, self._known(marker.parts))
        left = [part for part in marker.parts if states[part.id] == "open"]
        self.kernel.abortParts(_as_json(left), self.settings)
        self.kernel.mark(self._spark_dir, marker.query, marker.epoch - 1)
        return Marker(marker.query, marker.epoch - 1)

    def _known(self, parts: tuple[ExecutorTransaction, ...]) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kernel.describe(_as_json(parts), self.settings))
        return found


def _as_json(parts: tuple[ExecutorTransaction, ...] | list[ExecutorTransaction]) -> str:
    return json.dumps(
        [{"id": part.id, "producer": part.producer, "epoch": part.epoch} for part in parts]
    )
