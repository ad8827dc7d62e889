"""The table of Duolog's broker beside Apache Kafka's: what `scripts/bench broker` runs."""

import sys
from pathlib import Path

# The peer, and the client of single requests, are those of the conformance tests.
sys.path.insert(1, str(Path(__file__).parents[3] / "tests"))
