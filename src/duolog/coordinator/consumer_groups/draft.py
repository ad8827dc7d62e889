"""A group as it will be when the records of this step are replayed.

A step reads its own records back through the draft, while the group itself waits for the log.

A step can fail at its very end, and the log can reject its records. Timers and the group's view of
topics therefore change only when the records are staged (`ConsumerStep.then`).
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from duolog.coordinator.consumer_groups.assignors import ASSIGNORS, MemberSpec
from duolog.coordinator.consumer_groups.group import ConsumerGroup, Soft
from duolog.coordinator.consumer_groups.member import ConsumerMember
from duolog.coordinator.consumer_groups.records import (
    ConsumerGroupRecord,
    EpochChange,
    RegexChange,
    ResolvedRegex,
    TargetChange,
    TargetEpochChange,
)
from duolog.coordinator.consumer_groups.regex import TopicMatcher
from duolog.coordinator.consumer_groups.topics import TopicView, known_topics, metadata_hash
from duolog.coordinator.messages import Moment, Outcome
from duolog.coordinator.settings import ConsumerGroupSettings
from duolog.core.units import SECOND_MS

if TYPE_CHECKING:
    from uuid import UUID

logger = logging.getLogger(__name__)

REGEX_PAUSE_MS = 10 * SECOND_MS
"""Topics that are created in short succession increase the epoch once in this interval."""

SoftChange = Callable[[Soft], None]
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class ConsumerStep:
    """The inputs of one step of a group, besides the group itself; results are added to `outcome`.

    A step can fail at its very end, and the log can reject its records. Changes of the group's soft
    state therefore wait in `soft_changes` until the records are staged.
    """

    settings: ConsumerGroupSettings
    topics: TopicView
    matcher: TopicMatcher
    now: Moment
    outcome: Outcome = field(default_factory=Outcome)
    soft_changes: list[SoftChange] = field(default_factory=list)

    def then(
        self, change: Callable[Concatenate[Soft, P], None], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Change the group's soft state when the records of this step are staged."""
        self.soft_changes.append(lambda soft: change(soft, *args, **kwargs))


class Draft:
    """A group and the records that this step writes."""

    def __init__(self, group: ConsumerGroup, step: ConsumerStep) -> None:
        self.group = group
        self.step = step
        self.changed = False

    def write(self, *records: ConsumerGroupRecord) -> None:
        """Apply records to the draft, and add them to the outcome of this step."""
        if not self.changed:
            self.group = self.group.copy()
            self.changed = True
        for record in records:
            self.group.replay(record)
            self.step.outcome.records.append(record)

    def remove(self, member: ConsumerMember) -> None:
        """Remove a member, and its expression if no other member uses it."""
        self.write(*self.group.removal(member.member_id))
        self.forget_regex(member.metadata.regex)

    def refresh(self, *, bump: bool) -> None:
        """Move the group to its next epoch if `bump` is set or its topics have changed."""
        group, topics = self.group, self.step.topics
        found = metadata_hash(known_topics(topics, group.subscribed_topics()).values())
        if bump or found != group.metadata_hash:
            self.write(EpochChange(group.group_id, group.epoch + 1, found))
            logger.info(
                "began a group epoch",
                extra={"group_id": group.group_id, "epoch": self.group.epoch},
            )
        self.step.then(Soft.see_topics, topics.version)

    def retarget(self) -> None:
        """Compute the target assignment of every member at the group's epoch."""
        group = self.group
        infos = known_topics(self.step.topics, group.subscribed_topics())
        read_by: dict[tuple[tuple[str, ...], str | None], frozenset[UUID]] = {}
        specs = {}
        for member_id, member in group.members.items():
            reads = member.metadata.topics, member.metadata.regex
            if reads not in read_by:
                # Most members subscribe to the same topics, and hashing a UUID is slow.
                read_by[reads] = frozenset(
                    infos[name].topic_id for name in group.read_by(member) if name in infos
                )
            specs[member_id] = MemberSpec(
                read_by[reads],
                member.metadata.instance_id,
                group.targets.get(member_id, {}),
            )
        assign = ASSIGNORS[group.assignor(self.step.settings.assignors)]
        targets = assign(specs, {info.topic_id: info.partitions for info in infos.values()})
        self.write(
            *(
                TargetChange(group.group_id, member_id, target)
                for member_id, target in sorted(targets.items())
                if target != group.targets.get(member_id)
            ),
            TargetEpochChange(group.group_id, group.epoch),
        )

    # Expressions

    def follow_regex(self, old: str | None, new: str | None) -> bool:
        """Take note that a member changed its expression; return whether the group must move.

        A member that drops its expression moves it, too: what it read by that goes to others. Kafka
        does so when its view of the topics expires.

        Raises:
            GroupError: it is invalid, or could not be matched.
        """
        if old == new:
            return False
        if new and new not in self.group.regexes:
            self.step.matcher.check(new)
        self.forget_regex(old)
        return new in self.group.regexes if new else bool(old)

    def forget_regex(self, regex: str | None) -> None:
        """Forget the topics of an expression that no member uses any more."""
        group = self.group
        if regex and regex in group.regexes and regex not in group.used_regexes():
            self.write(RegexChange(group.group_id, regex, None))

    def resolve_regexes(self) -> bool:
        """Look for topics if there may be others than before; return whether there are."""
        used = self.group.used_regexes()
        if not used or not self._regexes_due(used):
            return False
        topics, known = self.step.topics, self.group.regexes
        moved, current = False, True
        for regex in sorted(used):
            matches = self.step.matcher.matching(regex)
            current = current and matches is not None and matches.current
            if matches is None:
                continue
            before, names = known.get(regex), matches.topics
            if before is None or before.topics != names:
                moved = moved or bool(names if before is None else True)
                resolved = ResolvedRegex(names, topics.version, self.step.now.wall_ms)
                self.write(RegexChange(self.group.group_id, regex, resolved))
        if current:  # Else the next heartbeat looks again.
            self.step.then(Soft.see_regexes, topics.version, self.step.now.monotonic_ms)
        return moved

    def _regexes_due(self, used: frozenset[str]) -> bool:
        if not used <= self.group.regexes.keys():
            return True
        soft = self.group.soft
        waited_ms = self.step.now.monotonic_ms - soft.regex_at_ms
        if waited_ms < REGEX_PAUSE_MS:
            return False
        overdue = waited_ms >= self.step.settings.regex_refresh_interval_ms
        return overdue or soft.regex_version != self.step.topics.version
