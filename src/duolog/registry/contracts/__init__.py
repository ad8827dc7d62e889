"""Data contracts: what a version holds besides its schema.

    metadata.py   tags of paths, properties, names of sensitive properties
    rule_set.py   rules for migration, domain and encoding
    ordering.py   Java's order of texts, which hashes and stored values follow

Clients execute the rules; the registry validates, merges, stores and returns them.
"""

from duolog.registry.contracts.metadata import CONFLUENT_VERSION, Metadata
from duolog.registry.contracts.rule_set import Rule, RuleSet

__all__ = ["CONFLUENT_VERSION", "Metadata", "Rule", "RuleSet"]
