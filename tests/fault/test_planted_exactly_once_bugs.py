"""A test of the tests: with each of these bugs in the kernel, one kill is enough for the checker to find it."""

from pathlib import Path
from typing import NamedTuple

import pytest

from duolog.testing import EmbeddedCluster
from fault.campaign import Campaign, Strike
from fault.history import Kind
from fault.planted_kernel import planted_kernel

pytestmark = [pytest.mark.spark, pytest.mark.deep, pytest.mark.timeout(600)]


class Planted(NamedTuple):
    """A bug in the place of lines of a class, the point at which a kill shows it, and as what."""

    bug: str
    java_class: str
    lines: str
    planted: str
    point: str
    found: Kind | None
    """None: the next start is refused."""


BUGS = [
    Planted(
        "the marker is written after the transaction, in one of its own",
        "Transactions",
        """\
            producer.send(markers.record(EpochMarkers.EPOCH, marker));
            FailPoints.at("transaction.commit");
            producer.commitTransaction();
""",
        """\
            producer.commitTransaction();
            FailPoints.at("transaction.commit");
            producer.beginTransaction();
            producer.send(markers.record(EpochMarkers.EPOCH, marker));
            producer.commitTransaction();
""",
        "transaction.commit",
        "duplicate",
    ),
    Planted(
        "the marker has the previous epoch",
        "EpochMarkers",
        'marker.put("epoch", number);',
        'marker.put("epoch", number - 1);',
        "transaction.committed",
        "duplicate",
    ),
    Planted(
        "the transaction is committed after Spark's commit",
        "EntryRename",
        """\
    if (transactions != null) {
      transactions.commit(number(to));
    }
    boolean renamed = renaming.run();
""",
        """\
    boolean renamed = renaming.run();
    if (transactions != null) {
      transactions.commit(number(to));
    }
""",
        "transaction.commit",
        "missing",
    ),
    Planted(
        "what Spark was to write is not kept",
        "Transactions",
        "    preparedDigest = PreparedEntry.write(entry, prepared);\n",
        '    preparedDigest = PreparedEntry.write(entry, prepared.resolveSibling("elsewhere"));\n',
        "transaction.committed",
        None,
    ),
]


@pytest.mark.parametrize("bug", BUGS, ids=[bug.bug for bug in BUGS])
def test_a_planted_bug_is_found(bug: Planted, tmp_path: Path) -> None:
    kernel = planted_kernel(bug.java_class, bug.lines, bug.planted, tmp_path)
    with EmbeddedCluster(tmp_path / "broker") as cluster:
        campaign = Campaign(cluster, tmp_path, 1, names=["each"], kernel=kernel)
        strikes = [Strike("both", bug.point, 2)]
        if bug.found is None:
            with pytest.raises(AssertionError, match="the engine ended"):
                campaign.run(strikes)
            return
        tally = campaign.run(strikes)

    assert tally.kinds[bug.found] > 0, tally
