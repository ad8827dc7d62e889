"""The inputs and outputs of one step of a group."""

from dataclasses import dataclass, field

from duolog.coordinator.messages import Moment, Outcome
from duolog.coordinator.settings import GroupSettings


@dataclass(frozen=True, slots=True)
class Step:
    """The inputs of one step of a group, besides the group itself; results are added to `outcome`."""

    settings: GroupSettings
    now: Moment
    outcome: Outcome = field(default_factory=Outcome)
