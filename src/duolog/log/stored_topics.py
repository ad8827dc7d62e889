"""The topics of a data directory, and changes to them that include their logs.

A change is made in three steps, so that its disk work can be done off the event loop: it is checked
and made here, `write` and `settle` run on any thread, and `place` puts it in place on the loop.
"""

from collections.abc import Callable, Mapping
from functools import partial

from duolog.core.setting_types import Value
from duolog.log.config import LogConfig
from duolog.log.data_directory.health import DirHealth
from duolog.log.data_directory.topics import CatalogChange, TopicCatalog, TopicEntry
from duolog.log.partition_logs import PartitionLogs

TopicChange = CatalogChange
"""A change of a topic. `write` and `settle` may be called off the event loop.

They raise LogDirOffline when the disk refuses. `place` belongs to the loop.
"""


class StoredTopics:
    """The topics by name, with their logs."""

    def __init__(
        self,
        catalog: TopicCatalog,
        logs: PartitionLogs,
        health: DirHealth,
        settings: Mapping[str, Value],
    ) -> None:
        self._catalog = catalog
        self._logs = logs
        self._health = health
        self._settings = settings

    def entries(self) -> list[TopicEntry]:
        return self._catalog.entries()

    def get(self, name: str) -> TopicEntry | None:
        return self._catalog.get(name)

    # Changes that are carried out at once: durable when the call returns.

    def create(
        self, name: str, partitions: int, configs: Mapping[str, str] | None = None
    ) -> TopicEntry:
        """Make a topic. Raises as `creating`."""
        return _carry_out(self.creating(name, partitions, configs or {}))

    def delete(
        self, name: str, *, remove: Callable[[Callable[[], None]], None] | None = None
    ) -> TopicEntry:
        """Delete a topic with all its records. Raises as `deleting`."""
        return _carry_out(self.deleting(name, remove=remove))

    def grow(self, name: str, total: int) -> TopicEntry:
        """Raise the number of partitions to `total`. Raises as `growing`."""
        return _carry_out(self.growing(name, total))

    def alter(self, name: str, configs: Mapping[str, str]) -> TopicEntry:
        """Replace the settings of a topic, and those of its logs. Raises as `altering`."""
        return _carry_out(self.altering(name, configs))

    # Changes in steps

    def creating(self, name: str, partitions: int, configs: Mapping[str, str]) -> TopicChange:
        """Return the change that makes a topic.

        Raises:
            TopicExists: there is one of this name.
            InvalidPartitions: fewer than one partition.
            ConfigError: a setting is unknown or has a value that is not allowed.
        """
        LogConfig.of_topic(configs, self._settings)
        change = self._catalog.creating(name, partitions, configs)
        return self._guarded(change, f'creating topic "{name}"')

    def deleting(
        self, name: str, *, remove: Callable[[Callable[[], None]], None] | None = None
    ) -> TopicChange:
        """Return the change that deletes a topic with all its records.

        Its files are removed by the function that `remove` is given, when the topic is gone for
        good, and at once without it. Nothing may be appended to it from now on.

        Raises:
            UnknownTopic: there is none of this name.
        """
        change = self._catalog.deleting(name)

        def place() -> None:
            change.place()
            self._logs.forget(change.entry)
            remove_files = partial(self._catalog.remove_files, change.entry)
            if remove is not None:
                remove(remove_files)
                return
            with self._health.guard(f'deleting topic "{name}"'):
                remove_files()

        return self._guarded(change._replace(place=place), f'deleting topic "{name}"')

    def growing(self, name: str, total: int) -> TopicChange:
        """Return the change that raises the number of partitions to `total`.

        Raises:
            UnknownTopic: there is no such topic.
            InvalidPartitions: `total` is not above the present number.
        """
        change = self._catalog.growing(name, total)
        return self._guarded(change, f'adding partitions to topic "{name}"')

    def altering(self, name: str, configs: Mapping[str, str]) -> TopicChange:
        """Return the change that replaces the settings of a topic, and those of its logs.

        Raises:
            UnknownTopic: there is no such topic.
            ConfigError: a setting is unknown or has a value that is not allowed.
        """
        config = LogConfig.of_topic(configs, self._settings)
        change = self._catalog.altering(name, configs)

        def place() -> None:
            change.place()
            self._logs.configure(change.entry, config)

        return self._guarded(change._replace(place=place), f'changing topic "{name}"')

    def configure(self, name: str) -> None:
        """Update the settings of a topic's logs: those of the broker have changed."""
        entry = self._catalog.entry(name)
        self._logs.configure(entry, LogConfig.of_topic(entry.configs, self._settings))

    def _guarded(self, change: CatalogChange, doing: str) -> TopicChange:
        """Let a refusal of the disk take the log directory offline."""

        def write() -> None:
            with self._health.guard(doing):
                change.write()

        settle = self._settle if change.settle else None
        return TopicChange(change.entry, write, settle, change.place)

    def _settle(self) -> None:
        with self._health.guard("changing topics"):
            self._catalog.sync()


def _carry_out(change: TopicChange) -> TopicEntry:
    change.write()
    if change.settle is not None:
        change.settle()
    change.place()
    return change.entry
