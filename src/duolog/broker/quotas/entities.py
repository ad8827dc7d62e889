"""Names of quotas, and of the entities that have them.

Source: Kafka `QuotaConfig`, `ClientQuotaEntity`; KIP-546.
"""

from collections.abc import Mapping
from typing import Final

USER, CLIENT_ID, IP = "user", "client-id", "ip"

PRODUCE: Final = "producer_byte_rate"
FETCH: Final = "consumer_byte_rate"
REQUEST: Final = "request_percentage"
MUTATION: Final = "controller_mutation_rate"
CONNECTIONS: Final = "connection_creation_rate"

Entity = tuple[tuple[str, str | None], ...]
"""The key of quotas: entity types with names, sorted by type. The name None is the default."""

Quotas = Mapping[Entity, Mapping[str, float]]
"""The values of each entity by the name of the quota."""
