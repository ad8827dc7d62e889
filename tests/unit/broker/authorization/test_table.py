"""The rights of each API as Kafka 4.1 asks for them, apart from the table that is under test."""

from duolog.broker.authorization.checks import Check
from duolog.broker.authorization.table import TABLE

OWN = {31_000: ["DESCRIBE CLUSTER"]}
"""DescribeClients, which Kafka does not have."""
KAFKA = {
    0: ["WRITE TRANSACTIONAL_ID", "WRITE TOPIC"],
    1: ["READ TOPIC"],
    2: ["DESCRIBE TOPIC"],
    3: ["DESCRIBE TOPIC", "DESCRIBE TOPIC", "CREATE TOPIC or CREATE CLUSTER", "DESCRIBE CLUSTER"],
    8: ["READ GROUP", "READ TOPIC"],
    9: ["DESCRIBE GROUP", "DESCRIBE TOPIC", "DESCRIBE TOPIC"],
    10: ["DESCRIBE GROUP", "DESCRIBE TRANSACTIONAL_ID"],
    11: ["READ GROUP"],
    12: ["READ GROUP"],
    13: ["READ GROUP"],
    14: ["READ GROUP"],
    15: ["DESCRIBE GROUP"],
    16: ["DESCRIBE GROUP or DESCRIBE CLUSTER"],
    17: [],
    18: [],
    19: ["CREATE TOPIC or CREATE CLUSTER", "DESCRIBE_CONFIGS TOPIC"],
    20: ["DESCRIBE TOPIC or DELETE CLUSTER", "DELETE TOPIC or DELETE CLUSTER"],
    21: ["DELETE TOPIC"],
    22: ["WRITE TRANSACTIONAL_ID", "IDEMPOTENT_WRITE CLUSTER or WRITE TOPIC"],
    23: ["DESCRIBE TOPIC or CLUSTER_ACTION CLUSTER"],
    24: ["WRITE TRANSACTIONAL_ID", "WRITE TOPIC"],
    25: ["WRITE TRANSACTIONAL_ID", "READ GROUP"],
    26: ["WRITE TRANSACTIONAL_ID"],
    27: ["ALTER CLUSTER or CLUSTER_ACTION CLUSTER"],
    28: ["WRITE TRANSACTIONAL_ID", "READ GROUP", "READ TOPIC"],
    29: ["DESCRIBE CLUSTER"],
    30: ["ALTER CLUSTER"],
    31: ["ALTER CLUSTER"],
    32: ["DESCRIBE_CONFIGS TOPIC", "DESCRIBE_CONFIGS GROUP", "DESCRIBE_CONFIGS CLUSTER"],
    33: ["ALTER_CONFIGS TOPIC", "ALTER_CONFIGS GROUP", "ALTER_CONFIGS CLUSTER"],
    34: ["ALTER CLUSTER"],
    35: ["DESCRIBE CLUSTER"],
    36: [],
    37: ["ALTER TOPIC"],
    42: ["DELETE GROUP"],
    43: ["ALTER CLUSTER"],
    44: ["ALTER_CONFIGS TOPIC", "ALTER_CONFIGS GROUP", "ALTER_CONFIGS CLUSTER"],
    45: ["ALTER CLUSTER"],
    46: ["DESCRIBE CLUSTER"],
    47: ["DELETE GROUP", "READ TOPIC"],
    48: ["DESCRIBE_CONFIGS CLUSTER"],
    49: ["ALTER_CONFIGS CLUSTER"],
    50: ["DESCRIBE CLUSTER"],
    51: ["ALTER CLUSTER"],
    55: ["DESCRIBE CLUSTER"],
    60: ["DESCRIBE CLUSTER"],
    61: ["READ TOPIC"],
    65: ["DESCRIBE TRANSACTIONAL_ID", "DESCRIBE TOPIC"],
    66: ["DESCRIBE TRANSACTIONAL_ID"],
    68: ["READ GROUP", "DESCRIBE TOPIC", "DESCRIBE TOPIC"],
    69: ["DESCRIBE GROUP", "DESCRIBE TOPIC"],
    74: ["DESCRIBE_CONFIGS CLUSTER"],
    75: ["DESCRIBE TOPIC", "DESCRIBE TOPIC"],
}


def texts(check: Check) -> str:
    rights = (f"{right.operation.name} {right.resource.name}" for right in check.instead)
    return " or ".join((f"{check.operation.name} {check.resource.name}", *rights))


def test_the_table_has_the_rights_that_kafka_asks_for() -> None:
    assert {key: [texts(check) for check in checks] for key, checks in TABLE.items()} == KAFKA | OWN
