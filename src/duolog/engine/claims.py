"""Own the checkpoint of an application while it starts, or while its state is changed.

    not running here ─▶ reserved ─▶ session open ─▶ claimed by the JVM ─(the block fails)─▶ released

Thread rule: any thread; claims of one application wait for each other.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from duolog.engine.checkpoint.checkpoint import Checkpoint
from duolog.engine.checkpoint.owner import claim, release
from duolog.engine.checkpoint.state_schemas import relocate_schemas
from duolog.engine.errors import CheckpointDamaged
from duolog.engine.query.query_registry import ensure_not_running, start_of
from duolog.engine.query.reservations import Reservations
from duolog.engine.spark.failures import JVM_IS_GONE
from duolog.engine.spark.session import Session


class Claimed(NamedTuple):
    """A checkpoint, and the session whose JVM owns it."""

    checkpoint: Checkpoint
    session: Session

    def release(self) -> None:
        release(self.checkpoint.directory, self.session.holder, self.session.java_pid)


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of one engine."""

    session: Callable[[], Session]
    reservations: Reservations = field(default_factory=Reservations)

    @contextlib.contextmanager
    def claimed(self, checkpoint: Checkpoint, application_id: str) -> Iterator[Claimed]:
        """Own a checkpoint; it is released if the block fails.

        Raises:
            CheckpointInUse, CheckpointNotWritable: as `owner.claim`.
        """
        directory = checkpoint.directory
        with start_of(directory, application_id):
            ensure_not_running(directory, application_id)
            with self.reservations.while_starting(directory, application_id):
                session = self.session()
            claim_for(session, checkpoint, application_id)
            claimed = Claimed(checkpoint, session)
            try:
                # A damaged one is reported later, unless it is restored.
                with contextlib.suppress(CheckpointDamaged):
                    checkpoint.unfinished.forget_unplanned()
                relocate_schemas(directory)
                yield claimed
            except BaseException:
                # The original error says more. If the JVM has ended, the system has released the
                # lock.
                with contextlib.suppress(OSError, *JVM_IS_GONE):
                    claimed.release()
                raise


def claim_for(session: Session, checkpoint: Checkpoint, application_id: str) -> None:
    """Make the JVM of a session the owner of a checkpoint; raises as `owner.claim`."""
    claim(checkpoint.directory, session.holder, application_id, pid=session.java_pid)
