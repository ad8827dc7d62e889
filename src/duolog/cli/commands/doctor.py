"""`duolog doctor`: verify, repair and salvage a data directory, without a broker."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click

from duolog.cli.doctor.checkpoints import check_checkpoints
from duolog.cli.doctor.decoders import DECODERS
from duolog.cli.errors import FAILED, USAGE, report
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column
from duolog.core.counts import counted
from duolog.core.errors import DuologError
from duolog.log.doctor import Finding, Report, Salvaged, Severity, examine, repair, salvage
from duolog.log.doctor.exclusive import exclusive
from duolog.log.doctor.overlay import ReadOnlyDisk
from duolog.log.errors import DataDirRefused
from duolog.log.files.disk import RealDisk

FINDING_COLUMNS: Final = (
    Column("severity", "string", "damage, rebuildable, or note (nothing is wrong)"),
    Column("topic", "string", "name of the topic"),
    Column("partition", "int", "number of the partition"),
    Column("offset", "int", "first offset that is affected"),
    Column("position", "int", "position in the file, in bytes"),
    Column("path", "string", "file, relative to the data directory"),
    Column("problem", "string", "the finding"),
    Column("repair", "string", "change that --repair makes"),
)
LOST_COLUMNS: Final = (
    Column("topic", "string", "name of the topic"),
    Column("partition", "int", "number of the partition"),
    Column("first_offset", "int", "first offset that is not in the copy"),
    Column("last_offset", "int", "last one; empty if the end of the log is unknown"),
    Column("reason", "string", "damage in the data directory"),
)
_ROUNDS_MAX: Final = 3
"""A repaired recovery point makes a start rely on more indexes, which may be damaged, too."""


class _Places(NamedTuple):
    """The data directory of a broker, and that of `duolog run`; None for one that is not there."""

    broker: Path | None
    applications: Path | None


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--repair", "repairing", is_flag=True, help="Rebuild what other files determine.")
@click.option(
    "--salvage",
    "out",
    metavar="OUT",
    type=click.Path(path_type=Path),
    help="Copy all whole record batches to the new data directory OUT.",
)
@click.option("--read-only", is_flag=True, help="Write nothing to DIR, not even its lock file.")
@output.output_option
def doctor(
    *, directory: Path, repairing: bool, out: Path | None, read_only: bool, form: str
) -> int:
    """Verify all files of a data directory; repair them, or salvage their records.

    DIR is the data directory of `duolog broker` or `duolog run`. The broker must be stopped. The
    doctor rehearses the next start in memory, then verifies each record batch, index, checkpoint
    and small file, the records of internal topics, and the checksums of applications' checkpoints.

    Without options, nothing is changed. --repair rebuilds indexes, recovery points, leader epoch
    files and marks; it never changes record batches. --salvage writes nothing to DIR. It copies
    record batches with their offsets and lists the offsets that are lost.

    \b
    Exit status:
      0 nothing is wrong · 1 damage was found or records are lost · 2 DIR cannot be examined

    \b
    Examples:
      duolog doctor ./data
      duolog doctor ./data --repair
      duolog doctor ./data --salvage ./data-salvaged
      duolog doctor /mnt/snapshot/data --read-only -o jsonl
    """
    if form == "help":
        columns = FINDING_COLUMNS if out is None else LOST_COLUMNS
        click.echo(output.help_text(columns), nl=False)
        return 0
    if repairing and (out is not None or read_only):
        raise click.UsageError("--repair cannot be combined with --salvage or --read-only")
    try:
        places = _places(directory)
        if out is not None:
            return _salvage(places, directory, out, form)
        return _examine(places, directory, form, repairing=repairing, read_only=read_only)
    except (DuologError, OSError) as error:
        report(error)
        return USAGE


def _places(directory: Path) -> _Places:
    """Return what DIR holds.

    Raises:
        DataDirRefused: neither a broker nor applications.
    """
    applications = directory if (directory / "checkpoints").is_dir() else None
    for broker in (directory, directory / "broker"):
        if (broker / "meta.properties").exists():
            return _Places(broker, applications)
    if applications is None:
        raise DataDirRefused(
            f'directory "{directory}" is not a data directory of Duolog',
            detail="It has neither a file meta.properties nor a directory checkpoints.",
            hint="Name the directory that `duolog broker --data` or `duolog run --data` uses.",
        )
    return _Places(None, applications)


def _examine(
    places: _Places, directory: Path, form: str, *, repairing: bool, read_only: bool
) -> int:
    findings: list[Finding] = []
    examined = None
    if places.broker is not None:
        with exclusive(str(places.broker), read_only=read_only):
            examined = examine(ReadOnlyDisk(), str(places.broker), DECODERS)
            if repairing:
                examined = _repair(str(places.broker), examined)
            findings += examined.findings
    if places.applications is not None:
        findings += check_checkpoints(places.applications)
    wrong = [one for one in findings if one.severity is not Severity.NOTE]
    if findings or form != "table":
        output.write_rows([_finding_row(one) for one in findings], FINDING_COLUMNS, form)
    _summarize(directory, examined, wrong)
    return FAILED if wrong else 0


def _repair(data_dir: str, examined: Report) -> Report:
    disk = RealDisk()
    for _ in range(_ROUNDS_MAX):
        done = 0
        for finding in repair(disk, examined):
            assert finding.repair is not None
            done += 1
            click.echo(f"repaired {finding.place.path}: {finding.repair.action}", err=True)
        if not done:
            break
        examined = examine(ReadOnlyDisk(), data_dir, DECODERS)
    return examined


def _finding_row(finding: Finding) -> dict[str, object]:
    place = finding.place
    return {
        "severity": str(finding.severity),
        "topic": place.topic,
        "partition": place.partition,
        "offset": place.offset,
        "position": place.position,
        "path": place.path,
        "problem": finding.problem,
        "repair": None if finding.repair is None else finding.repair.action,
    }


def _summarize(directory: Path, examined: Report | None, wrong: Sequence[Finding]) -> None:
    verified = ""
    if examined is not None:
        counts = examined.counts
        verified = (
            f"verified {counted(examined.topics, 'topic')}, "
            f"{counted(counts.partitions, 'partition')}, {counted(counts.segments, 'segment')}, "
            f"{counted(counts.batches, 'record batch', 'record batches')}; "
        )
    found = "nothing is wrong"
    if wrong:
        repairable = sum(one.repair is not None for one in wrong)
        found = f"{counted(len(wrong), 'problem')}, of which --repair can rebuild {repairable}"
    click.echo(f"{directory}: {verified}{found}", err=True)
    if any(one.severity is Severity.DAMAGE for one in wrong):
        click.echo(
            "hint: Restore what is damaged from a copy of the directory. Without a copy, "
            "--salvage OUT copies all whole record batches.",
            err=True,
        )


def _salvage(places: _Places, directory: Path, out: Path, form: str) -> int:
    if places.broker is None:
        raise DataDirRefused(
            f'directory "{directory}" has no logs of a broker',
            hint="Name the data directory of a broker.",
        )
    source, target = places.broker.resolve(), out.resolve()
    if target == source or source in target.parents or target in source.parents:
        raise DataDirRefused(
            f'directory "{out}" is not outside of "{places.broker}"',
            hint="Name a directory on a disk with enough free space.",
        )
    with exclusive(str(source), read_only=True):
        result = salvage(ReadOnlyDisk(), str(source), RealDisk(), str(target))
    return _show_salvaged(result, out, form)


def _show_salvaged(result: Salvaged, out: Path, form: str) -> int:
    rows = [
        {
            "topic": lost.topic,
            "partition": lost.partition,
            "first_offset": lost.first_offset,
            "last_offset": None if lost.next_offset is None else lost.next_offset - 1,
            "reason": lost.reason,
        }
        for lost in result.lost
    ]
    if rows or form != "table":
        output.write_rows(rows, LOST_COLUMNS, form)
    for remark in result.remarks:
        click.echo(remark, err=True)
    click.echo(
        f"{out}: copied {counted(result.topics, 'topic')}, "
        f"{counted(result.partitions, 'partition')}, "
        f"{counted(result.batches, 'record batch', 'record batches')} of {result.bytes} bytes; "
        f"{counted(len(result.lost), 'lost range')} of offsets",
        err=True,
    )
    return FAILED if result.lost or result.remarks else 0
