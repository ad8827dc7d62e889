"""The access rights that an application needs on a cluster with ACLs.

    source topics        Read, Describe, DescribeConfigs          (CreateTopics: Create)
    result topics        Write, Create, Describe, DescribeConfigs
    internal topics      all of that and Delete, for names that begin with APPLICATION-
    groups               Read, for names of Duolog that begin with duolog-
    transactional ids    Write, Describe, for names that begin with APPLICATION-

No client joins a group: Kafka's clients ask for the right nevertheless, as soon as they have the
name of one.

Source: Kafka `docs/security.html`, "Operations and Resources on Protocols".
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from duolog.plan.nodes import Plan

TOPIC: Final = "topic"
GROUP: Final = "group"
TRANSACTIONAL_ID: Final = "transactional-id"
_GROUPS: Final = ("duolog-peek", "duolog-looks")
_LITERAL: Final = re.compile(r"[A-Za-z0-9_-]*(?![?*{])")
_WORD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Between the words of an operation: kafka-acls writes DescribeConfigs for DESCRIBE_CONFIGS."""
_READ: Final = ("Read", "Describe", "DescribeConfigs")
_WRITE: Final = ("Write", "Create", "Describe", "DescribeConfigs")
_INTERNAL: Final = ("Read", *_WRITE, "Delete")


class Rule(NamedTuple):
    """Operations on one resource, or on all whose names begin with `name`."""

    kind: str
    name: str
    operations: tuple[str, ...]
    prefixed: bool = False

    def command(self, principal: str, bootstrap_servers: str) -> list[str]:
        """Return the words of the command of Kafka that allows it."""
        words = ["kafka-acls.sh", "--bootstrap-server", bootstrap_servers, "--add"]
        words += ["--allow-principal", principal]
        for operation in self.operations:
            words += ["--operation", operation]
        words += [f"--{self.kind}", self.name]
        return words + (["--resource-pattern-type", "prefixed"] if self.prefixed else [])

    def own_command(self, principal: str, options: Sequence[str]) -> list[str]:
        """Return the words of the command of Duolog that allows it.

        Args:
            principal: the user, such as `User:totals`.
            options: the options that name the cluster.
        """
        words = ["duolog", "acls", "add", "--allow", principal]
        for operation in self.operations:
            words += ["--operation", _WORD.sub("_", operation).lower()]
        words += [f"--{self.kind}", self.name]
        return [*words, *(["--prefix"] if self.prefixed else []), *options]


def required_acls(
    plan: Plan,
    application_id: str,
    *,
    exactly_once: bool,
    dead_letter_topic: str | None = None,
    creates_sources: bool = False,
) -> list[Rule]:
    """Return the rules that an application needs, and no more.

    Args:
        plan: the application's plan.
        application_id: the name of its topology.
        exactly_once: whether results are committed in transactions.
        dead_letter_topic: the topic of skipped records.
        creates_sources: whether missing source topics are created.
    """
    found = [*_of_sources(plan, creates_sources=creates_sources)]
    written = dict.fromkeys(topic for sink in plan.sinks for topic in sink.topics)
    if dead_letter_topic:
        written[dead_letter_topic] = None
    found += [Rule(TOPIC, topic, _WRITE) for topic in written]
    internal = f"{application_id}-"
    found.append(Rule(TOPIC, internal, _INTERNAL, prefixed=True))
    found += [Rule(GROUP, group, ("Read",)) for group in _GROUPS]
    found.append(Rule(GROUP, f"duolog-{application_id}-", ("Read",), prefixed=True))
    if exactly_once:
        found.append(Rule(TRANSACTIONAL_ID, internal, ("Write", "Describe"), prefixed=True))
    return found


def _of_sources(plan: Plan, *, creates_sources: bool) -> Iterator[Rule]:
    operations = (*_READ, "Create") if creates_sources else _READ
    for source in dict.fromkeys((source.topic, source.is_pattern) for source in plan.sources):
        name, is_pattern = source
        if not is_pattern:
            yield Rule(TOPIC, name, operations)
        elif begin := _begin_of(name):
            yield Rule(TOPIC, begin, _READ, prefixed=True)
        else:
            yield Rule(TOPIC, "*", _READ)


def _begin_of(pattern: str) -> str:
    """Return the text that every match of a regular expression begins with, as far as it is plain.

    Example:
        >>> _begin_of("orders-.*"), _begin_of("ordersx?"), _begin_of("a|b"), _begin_of(".*")
        ('orders-', 'orders', '', '')
    """
    found = _LITERAL.match(pattern)
    return "" if "|" in pattern or found is None else found[0]
