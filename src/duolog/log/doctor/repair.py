"""Apply the repairs of a report, one file at a time. No record batch is ever changed."""

from collections.abc import Iterator

from duolog.log.doctor.examination import Report
from duolog.log.doctor.finding import Finding
from duolog.log.files.disk import Disk


def repair(disk: Disk, report: Report) -> Iterator[Finding]:
    """Repair what the report says can be; yields each finding after its repair is durable.

    The caller holds the lock of the data directory.

    Raises:
        OSError: the disk refused; files repaired so far stay repaired.
    """
    for finding in report.findings:
        if finding.repair is not None:
            finding.repair.apply(disk)
            yield finding
