"""Plan a restore: what it would do and what prevents it. Changes nothing, and starts no JVM.

what was committed ─┬─▶ stores, their changelogs, the number of entries
the program ────────┤   where each source continues
the brokers' topics ┘   what is missing, or does not fit
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from duolog.core.counts import counted
from duolog.engine.changelog.commit_topic import StoredCommits
from duolog.engine.changelog.internal_topics import is_kept_by_age
from duolog.engine.checkpoint.checkpoint_positions import positions_in, starts_in
from duolog.engine.checkpoint.generations import InternalTopics
from duolog.engine.checkpoint.shape_difference import first_difference
from duolog.engine.engine import Engine
from duolog.engine.lowering.plan_shapes import shape_of_plan
from duolog.engine.topics.offsets import EndOffsets
from duolog.engine.topics.topic_reader import TopicReader
from duolog.plan.cutting.levels import find_levels
from duolog.plan.nodes import Plan


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """The state that would be restored, and the positions from which reading would continue."""

    changelogs: Mapping[str, str]
    """The topic of each store, by the store's name."""
    entries: Mapping[str, int]
    """The maximum number of entries of each existing topic: compacted entries are included."""
    positions: EndOffsets
    """The offset at which each source partition would continue."""
    problems: Sequence[str]
    """Sentences about what is missing, or does not fit."""


def restore_plan(
    engine: Engine, plan: Plan, application_id: str, kept: StoredCommits
) -> RestorePlan:
    """Return what `Engine.restore` would do with the stored content of an application.

    Raises:
        BrokerUnreachable: no broker answers.
    """
    topics = TopicReader(engine.config.bootstrap_servers, engine.config.python_clients)
    fixed = kept.application
    names = InternalTopics.of(application_id, fixed["changelog"])
    changelogs = {store: names.changelog(store) for store in fixed["shape"]["stores"]}
    assert kept.committed.offsets is not None, "something was committed"
    positions = positions_in(kept.committed.offsets, starts_in(fixed))
    there = topics.existing_partition_counts([*changelogs.values(), *positions])
    of_stores = {topic: there[topic] for topic in changelogs.values() if topic in there}
    ends, begins = topics.end_offsets(of_stores), topics.begin_offsets(of_stores)
    entries = {topic: sum(ends[topic].values()) - sum(begins[topic].values()) for topic in ends}
    levels = find_levels(plan, int(fixed["tasks"]))
    shape = shape_of_plan(levels, application_id)
    problems = [
        *_of_program(first_difference(fixed["shape"], shape)),
        *_of_changelogs(kept, sorted(changelogs.values()), there, topics),
        *_of_sources(kept, positions, there, topics),
    ]
    return RestorePlan(changelogs, entries, positions, problems)


def _of_program(difference: str) -> Iterator[str]:
    if difference:
        yield f"The changelogs belong to another topology. {difference}"


def _of_changelogs(
    kept: StoredCommits, changelogs: Sequence[str], there: Mapping[str, int], topics: TopicReader
) -> Iterator[str]:
    log, tasks = kept.application["changelog"], int(kept.application["tasks"])
    found = [topic for topic in changelogs if topic in there]
    known, ids = log.get("ids", {}), topics.topic_ids(found)
    policies = topics.cleanup_policies(found)
    for topic in changelogs:
        if topic not in there:
            yield f'Changelog "{topic}" is missing.'
        elif there[topic] != tasks:
            yield (
                f'Changelog "{topic}" has {counted(there[topic], "partition")} instead of {tasks}.'
            )
        elif known.get(topic, "") not in ("", ids.get(topic, known.get(topic))):
            yield (
                f'Changelog "{topic}" was deleted and created again: it lacks the earlier '
                "entries, unless these were "
                "restored."
            )
        if is_kept_by_age(policies.get(topic, "")):
            yield (
                f'Changelog "{topic}" has cleanup.policy={policies[topic]}: it deletes '
                "records by age."
            )


def _of_sources(
    kept: StoredCommits, positions: EndOffsets, there: Mapping[str, int], topics: TopicReader
) -> Iterator[str]:
    read = sorted(topic for topic in positions if topic in there)
    known, ids = kept.application.get("topics", {}), topics.topic_ids(read)
    begins = topics.begin_offsets({topic: there[topic] for topic in read})
    for topic, offsets in sorted(positions.items()):
        if topic not in there:
            yield f'Source topic "{topic}" is missing.'
            continue
        if known.get(topic, "") not in ("", ids.get(topic, known.get(topic))):
            yield (
                f'Source topic "{topic}" was deleted and created again: its offsets mean '
                "other records."
            )
            continue
        for partition, offset in sorted(offsets.items()):
            first = begins[topic].get(partition, 0)
            if offset < first:
                yield (
                    f'Source topic "{topic}" has lost records to retention: partition '
                    f"{partition} begins at {first}, "
                    f"but reading must continue at {offset}."
                )
