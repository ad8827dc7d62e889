"""Compare the APIs that ApiVersions advertises with a table of those that Kafka's clients need.

Tier 0: required by every client. Tier 1: transactions, the consumer protocol, administration.
Tier 2: cheap to answer, and used by tools.
"""

from typing import Any, Final

import pytest

API_VERSIONS: Final = 18

TIER_0: Final = {
    0: (0, 12), 1: (4, 17), 2: (1, 10), 3: (0, 13), 8: (2, 9), 9: (1, 9), 10: (0, 5), 11: (0, 9),
    12: (0, 4), 13: (0, 5), 14: (0, 5), 17: (0, 1), 18: (0, 4), 22: (0, 5), 23: (2, 4), 36: (0, 2),
}  # fmt: skip
TIER_1: Final = {
    15: (0, 6), 16: (0, 5), 19: (2, 7), 20: (1, 6), 21: (0, 2), 24: (0, 3), 25: (0, 4), 26: (0, 5),
    28: (0, 5), 29: (1, 3), 30: (1, 3), 31: (1, 3), 32: (1, 4), 33: (0, 2), 37: (0, 3), 42: (0, 2),
    44: (0, 1), 47: (0, 0), 50: (0, 0), 51: (0, 0), 60: (0, 2), 61: (0, 0), 65: (0, 0), 66: (0, 2),
    68: (0, 1), 69: (0, 1), 75: (0, 0),
}  # fmt: skip
TIER_2: Final = {
    27: (1, 2), 34: (1, 2), 35: (1, 4), 43: (0, 2), 45: (0, 1), 46: (0, 0), 48: (0, 1), 49: (0, 1), 55: (0, 2),
    74: (0, 1),
}  # fmt: skip
OWN: Final = {31_000: (0, 0)}
"""DescribeClients, which Kafka does not have."""
EXPECTED: Final = TIER_0 | TIER_1 | TIER_2 | OWN


@pytest.fixture
def advertised(harness: Any) -> dict[int, tuple[int, int]]:
    answer = harness.client().ask(
        API_VERSIONS, 4, client_software_name="t", client_software_version="1"
    )
    return {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}


def test_every_api_of_the_table_is_advertised_with_its_versions(
    advertised: dict[int, tuple[int, int]],
) -> None:
    assert advertised == EXPECTED


def test_no_api_of_brokers_among_themselves_is_advertised(
    advertised: dict[int, tuple[int, int]],
) -> None:
    between_brokers = {*range(4, 8), *range(52, 55), 56, 57, 58, 59, 62, 63, 64, 67, 70, 73}

    assert not between_brokers & set(advertised)
