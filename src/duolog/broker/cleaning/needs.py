"""The interfaces that compaction and retention need of the broker."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from duolog.broker.controller import Controller
    from duolog.broker.event_loop.loop import Loop, Timers
    from duolog.broker.event_loop.time_slices import TimeSlices
    from duolog.broker.produce.rounds import Rounds
    from duolog.broker.settings import BrokerSettings
    from duolog.broker.topics.topics import Partition, Topics
    from duolog.core.clock import Clock
    from duolog.log.group_commit import GroupCommit


class Broker(Protocol):
    """The broker, as the cleaner sees it."""

    clock: "Clock"
    controller: "Controller"
    group_commit: "GroupCommit"
    loop: "Loop"
    rounds: "Rounds"
    settings: "BrokerSettings"
    slices: "TimeSlices"
    topics: "Topics"

    @property
    def timers(self) -> "Timers": ...
    def partition_changed(self, partition: "Partition") -> None: ...
