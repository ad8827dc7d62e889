"""The states of a transaction, and which may follow which.

                   begin                 end                    markers are written
    EMPTY ────────────────▶ ONGOING ────────────▶ PREPARE_COMMIT ─────────▶ COMPLETE_COMMIT
      ▲                      ▲  │ end, timeout,                                  │
      │ InitProducerId       │  │ InitProducerId                                 │
      │                      │  └─────────────▶ PREPARE_ABORT ──────────▶ COMPLETE_ABORT
      │                      │                                                   │
      └──────────────────────┴───────────────────────────────────────────────────┘

From transactions of version 2 on an abort without a partition goes from EMPTY or COMPLETE_* to
PREPARE_ABORT, because it ends an epoch. Kafka's Dead and PrepareEpochFence are never written: a
tombstone and the one record of the abort take their place.

Source: Kafka `TransactionState`.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final


class TransactionState(Enum):
    """A state, by the name that clients are shown."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"

    @property
    def prepared(self) -> bool:
        """True if the outcome is decided and the markers are being written."""
        return self in _PREPARED

    @property
    def complete(self) -> bool:
        """True if the markers of the last transaction are written."""
        return self in _COMPLETE

    @property
    def idle(self) -> bool:
        """True if no transaction is in progress, so that another may start."""
        return self is TransactionState.EMPTY or self in _COMPLETE

    @property
    def commit(self) -> bool:
        """True if the transaction, prepared or complete, is committed rather than aborted."""
        assert not self.idle or self in _COMPLETE
        return self in _COMMIT


_PREPARED: Final = frozenset((TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT))
_COMPLETE: Final = frozenset((TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT))
_COMMIT: Final = frozenset((TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT))
_IDLE: Final = _COMPLETE | {TransactionState.EMPTY}

PREVIOUS: Final[Mapping[TransactionState, frozenset[TransactionState]]] = MappingProxyType(
    {
        TransactionState.EMPTY: _IDLE,
        TransactionState.ONGOING: _IDLE | {TransactionState.ONGOING},
        TransactionState.PREPARE_COMMIT: frozenset((TransactionState.ONGOING,)),
        TransactionState.PREPARE_ABORT: _IDLE | {TransactionState.ONGOING},
        TransactionState.COMPLETE_COMMIT: frozenset((TransactionState.PREPARE_COMMIT,)),
        TransactionState.COMPLETE_ABORT: frozenset((TransactionState.PREPARE_ABORT,)),
    }
)
"""The states from which each can be entered."""
