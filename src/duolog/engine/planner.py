"""Cut and lower a plan as an engine would run it: its topics, its number of tasks, its spec.

    plan ─▶ matched topics, partition counts ─▶ tasks ─▶ levels ─▶ spec

Starts no JVM. Threads: any.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from duolog.engine.checkpoint.application_ids import checkpoint_of
from duolog.engine.checkpoint.checkpoint import Checkpoint
from duolog.engine.exactly_once.transaction_timeout import ensure_lookups_end_in_time
from duolog.engine.json_object import Json
from duolog.engine.lowering.expressions.python_functions import python_of
from duolog.engine.lowering.lower import lower
from duolog.engine.lowering.timestamps import with_default_extractor
from duolog.engine.settings import EngineConfig
from duolog.engine.spark.cluster_requirements import ensure_can_run, functions_on_executors
from duolog.engine.topics.patterns import matched_topics, topics_read
from duolog.engine.topics.topic_reader import TopicReader
from duolog.engine.upgrades.upgrader import Lowered
from duolog.plan.cutting.levels import Levels, find_levels
from duolog.plan.nodes import Plan


@dataclass(frozen=True, slots=True)
class Planner:
    """Lowers plans by the settings of one engine."""

    config: EngineConfig
    topics: TopicReader

    def checkpoint(self, application_id: str) -> Checkpoint:
        """Return the checkpoint of an application.

        Raises:
            ConfigError: the name is not a valid application id.
        """
        return checkpoint_of(self.config.checkpoint_dir, application_id)

    def ensure_can_run(self, plan: Plan, application_id: str, config: EngineConfig) -> None:
        """Raise ConfigError if a plan does not fit the settings of a start."""
        # The number of tasks does not matter.
        ensure_can_run(plan, lambda: self.spec(find_levels(plan, 1), application_id), config)
        ensure_lookups_end_in_time(plan, config)

    def matched(self, plan: Plan, application_id: str) -> dict[str, tuple[str, ...]]:
        """Return the existing topics of each pattern that the plan reads."""
        if not any(source.is_pattern for source in plan.sources):
            return {}
        return matched_topics(plan, self.topics.names(), application_id)

    def levels(self, plan: Plan, checkpoint: Checkpoint, counts: Mapping[str, int]) -> Levels:
        """Cut a plan for the number of tasks of its checkpoint, the settings or its topics."""
        largest = max(counts.values(), default=1)
        return find_levels(plan, checkpoint.pinned_tasks() or self.config.tasks or largest)

    def lower(self, plan: Plan, application_id: str) -> Lowered:
        """Lower a plan whose topics exist.

        Raises:
            SourceTopicMissing, BrokerUnreachable: a topic is missing, or no broker answers.
        """
        matched = self.matched(plan, application_id)
        counts = self.topics.partition_counts(topics_read(plan, matched))
        levels = self.levels(plan, self.checkpoint(application_id), counts)
        return Lowered(self.spec(levels, application_id), levels, counts, matched)

    def lower_without_topics(self, plan: Plan, application_id: str) -> Lowered:
        """Lower a plan with what is known about its topics, which may not exist yet."""
        known = self.known_partition_counts(plan)
        levels = self.levels(plan, self.checkpoint(application_id), known or {})
        matched = {} if known is None else self.matched(plan, application_id)
        return Lowered(self.spec(levels, application_id), levels, known or {}, matched)

    def known_partition_counts(self, plan: Plan) -> dict[str, int] | None:
        """Return the partition counts of existing topics; None if no broker answers."""
        return self.topics.known_partition_counts(
            lambda topic: any(source.reads_topic(topic) for source in plan.sources)
        )

    def spec(self, levels: Levels, application_id: str) -> Json:
        """Lower a plan that has been cut to the spec that the kernel runs."""
        config = self.config
        spec = lower(levels, application_id, cache_bytes_max=config.cache_bytes_max)
        sources = with_default_extractor(spec["sources"], config.timestamp_extractor)
        python = python_of(config.python_timeout_ms, config.python_memory_bytes_max)
        there = functions_on_executors(levels, config.master)
        called = {"functions": spec.get("functions", []) + there} if there else {}
        return spec | called | python | {"errors": config.errors.spec(), "sources": sources}
