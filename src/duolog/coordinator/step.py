"""The inputs and outputs of one step of a group."""

from dataclasses import dataclass, field

from duolog.coordinator.messages import Moment, Outcome
from duolog.coordinator.settings import GroupSettings


@dataclass(frozen=True, slots=True)
class Step:
    """The inputs of one step of a group, and the `outcome` that results are added to."""

    settings: GroupSettings
    now: Moment
    outcome: Outcome = field(default_factory=Outcome)
