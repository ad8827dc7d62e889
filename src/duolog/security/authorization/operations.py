"""Operations and types of resources, with Kafka's codes.

Source: Kafka `AclOperation`, `ResourceType`.
"""

from enum import IntEnum


class Operation(IntEnum):
    """An operation on a resource."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class ResourceType(IntEnum):
    """A type of resource; types from 100 on are Duolog's, and no Kafka client sees them."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7
    SUBJECT = 100
    """A subject of the schema registry."""
    SOURCE = 101
    """A stream or table of SQL, by its service and its name: `default_.ORDERS`."""


CLUSTER_NAME = "kafka-cluster"
"""The name of the only resource of type CLUSTER."""
