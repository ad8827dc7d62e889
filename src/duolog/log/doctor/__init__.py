"""Examines a data directory whose broker is stopped, repairs it, and salvages its records.

Start reading with `examination`: it rehearses a start on a copy-on-write view of the disk
(`overlay`), then reads every file. `repair` rebuilds files that other files determine. `salvage`
copies all whole record batches to a new data directory.
"""

from duolog.log.doctor.examination import Report, examine
from duolog.log.doctor.finding import Finding, Severity
from duolog.log.doctor.repair import repair
from duolog.log.doctor.salvage import Salvaged, salvage

__all__ = ["Finding", "Report", "Salvaged", "Severity", "examine", "repair", "salvage"]
