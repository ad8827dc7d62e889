"""The journal: an interrupted commit is a note, a changed frame is damage."""

import pytest

from duolog.log.doctor import Finding, Severity, examine, salvage
from duolog.log.doctor.finding import Findings
from duolog.log.doctor.journal_check import check_journal
from duolog.log.files.disk import read_file
from duolog.log.journal import encode_frame
from duolog.testing.disk import CrashDisk
from unit.log.doctor.small_directory import DATA, files_of, served, small_directory

SEGMENT = "topics/0f5a1c52-6f0a-4f46-8f0e-2f1a4f3f7c11/0/00000000000000000000.log"
FRAMES = [b"".join(encode_frame(SEGMENT, 700 * n, bytes([n + 1]) * 700)) for n in range(3)]
JOURNAL = f"{DATA}/journal/0000000001.journal"


def checked(content: bytes, *, settled: bool = True) -> tuple[int, list[Finding]]:
    disk, findings = CrashDisk(), Findings()
    disk.make_dir(f"{DATA}/journal")
    disk.open(JOURNAL, create=True).append([content])
    return check_journal(disk, DATA, findings, settled=settled), list(findings)


def test_whole_frames_are_counted() -> None:
    assert checked(b"".join(FRAMES)) == (3, [])


@pytest.mark.parametrize("settled", [True, False])
def test_a_cut_frame_at_the_end_is_a_note(settled: bool) -> None:  # noqa: FBT001
    whole = b"".join(FRAMES)
    for size in range(len(whole) - len(FRAMES[2]) + 1, len(whole)):
        frames, (finding,) = checked(whole[:size], settled=settled)

        assert (frames, finding.severity) == (2, Severity.NOTE)
        assert finding.place.position == len(whole) - len(FRAMES[2])


@pytest.mark.parametrize("settled", [True, False])
@pytest.mark.parametrize("number", range(3))
def test_a_flipped_bit_in_a_frame_is_damage(number: int, settled: bool) -> None:  # noqa: FBT001
    for bit in range(8 * 30, 8 * len(FRAMES[number]), 7):
        content = bytearray(b"".join(FRAMES))
        content[sum(map(len, FRAMES[:number])) + bit // 8] ^= 1 << bit % 8

        frames, (finding,) = checked(bytes(content), settled=settled)

        assert (frames, finding.severity) == (number, Severity.DAMAGE)
        follows = f"whole one follows at position {sum(map(len, FRAMES[: number + 1]))}"
        assert (follows in finding.problem) == (number < 2)


def test_an_empty_sector_is_a_note_after_a_power_failure_only() -> None:
    content = bytearray(b"".join(FRAMES))
    content[1024:1536] = bytes(512)

    assert checked(bytes(content), settled=False)[1][0].severity is Severity.NOTE
    assert checked(bytes(content), settled=True)[1][0].severity is Severity.DAMAGE


def test_records_that_are_only_in_the_journal_are_whole() -> None:
    disk = small_directory(stopped=False)
    expected = served(disk)
    path = max(p for p in files_of(disk) if "/1/" in p and p.endswith(".log"))
    content = read_file(disk, path) or b""
    frame = encode_frame(path.removeprefix(f"{DATA}/"), 10, content[10:])
    disk.open(path).truncate(10)
    disk.make_dir(f"{DATA}/journal")
    disk.open(JOURNAL, create=True).append(frame)
    out = CrashDisk()

    report = examine(disk, DATA)
    result = salvage(disk, DATA, out, DATA)

    assert report.findings == ()
    assert result.lost == []
    assert served(out) == expected
    assert disk.size(path) == 10
