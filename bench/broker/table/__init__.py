"""Measurements for the table of `scripts/bench broker`: Duolog's broker and Apache Kafka."""

import sys
from pathlib import Path

# Kafka as a peer, and the client for single requests, are part of the conformance tests.
sys.path.insert(1, str(Path(__file__).parents[3] / "tests"))
