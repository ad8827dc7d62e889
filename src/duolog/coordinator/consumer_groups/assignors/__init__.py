"""Assignors: functions from subscriptions to assignments.

Same members, subscriptions, topics and previous targets give the same result, in any order.
"""

from collections.abc import Callable, Mapping
from typing import Final
from uuid import UUID

from duolog.coordinator.consumer_groups.assignors.range import assign_range
from duolog.coordinator.consumer_groups.assignors.spec import MemberSpec
from duolog.coordinator.consumer_groups.assignors.uniform import assign_uniform
from duolog.coordinator.consumer_groups.records import Assignment

Assignor = Callable[[Mapping[str, MemberSpec], Mapping[UUID, int]], dict[str, Assignment]]

ASSIGNORS: Final[Mapping[str, Assignor]] = {"uniform": assign_uniform, "range": assign_range}
"""By the name that a member or the broker's setting asks for."""

__all__ = ["ASSIGNORS", "Assignor", "MemberSpec"]
