"""What one step of a group is given, and what comes out of it."""

from dataclasses import dataclass, field

from duolog.coordinator.messages import Moment, Outcome
from duolog.coordinator.settings import GroupSettings


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of a group needs besides the group; its results go into `outcome`."""

    settings: GroupSettings
    now: Moment
    outcome: Outcome = field(default_factory=Outcome)
