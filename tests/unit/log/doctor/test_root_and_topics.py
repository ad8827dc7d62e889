"""Files at the top of a directory, descriptions of topics, and interrupted compactions."""

import json
from collections.abc import Callable

import pytest

from duolog.log.doctor import Finding, Severity, examine
from duolog.log.doctor.overlay import OverlayDisk
from duolog.log.errors import DataDirRefused
from duolog.log.files.checked_file import encode_checked
from duolog.log.files.disk import Disk, read_file, replace_file
from duolog.log.segments.segment_swap import SWAP_FILE_NAME, Swap, promise_swap
from duolog.testing.disk import CrashDisk
from property.test_compaction_crashes import filled_log
from unit.log.doctor.small_directory import DATA, PARTITIONS, TOPIC, files_of, small_directory


def findings(disk: Disk) -> list[Finding]:
    return list(examine(disk, DATA).findings)


def the_topic(disk: Disk) -> str:
    return next(path for path in files_of(disk) if path.endswith("/topic")).rpartition("/")[0]


def replaced(name: str, content: bytes) -> CrashDisk:
    disk = small_directory()
    replace_file(disk, DATA, name, encode_checked(name, content))
    return disk


@pytest.mark.parametrize(
    ("name", "content", "severity"),
    [
        ("leader-epoch", b"two", Severity.REBUILDABLE),
        ("last-start", b"1\n", Severity.REBUILDABLE),
        ("clean-shutdown", b"1\nid 0\n", Severity.REBUILDABLE),
        ("producer-ids", b"-5", Severity.REBUILDABLE),
        ("dynamic-configs", b"[]", Severity.DAMAGE),
        ("client-quotas", b"{}", Severity.DAMAGE),
        ("meta.properties", b"format.version=2\n", Severity.DAMAGE),
    ],
)
def test_a_content_that_cannot_be_read_is_found(
    name: str, content: bytes, severity: Severity
) -> None:
    (finding,) = findings(replaced(name, content))

    assert (finding.severity, finding.place.path) == (severity, name)


@pytest.mark.parametrize(("version", "reason"), [(1, "has the format 1"), (3, "newer Duolog")])
def test_another_format_is_refused(version: int, reason: str) -> None:
    content = b"format.version=%d\ncluster.id=x\nnode.id=0\n" % version
    data = content if version == 1 else encode_checked("meta.properties", content)
    disk = small_directory()
    replace_file(disk, DATA, "meta.properties", data)

    with pytest.raises(DataDirRefused, match=reason):
        examine(disk, DATA)


def test_a_partition_whose_directory_is_gone_is_found() -> None:
    disk = small_directory()
    without = OverlayDisk(disk)
    without.remove_tree(f"{the_topic(disk)}/1")

    (finding,) = findings(without)

    assert (finding.severity, finding.place.partition) == (Severity.DAMAGE, 1)
    assert "has lost acknowledged records" in finding.problem


def changed_topic(**fields: object) -> CrashDisk:
    disk = small_directory()
    directory = the_topic(disk)
    data = read_file(disk, f"{directory}/topic") or b""
    content = json.loads(data.partition(b"\n")[2]) | fields
    encoded = encode_checked("topic", json.dumps(content).encode())
    replace_file(disk, directory, "topic", encoded)
    return disk


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"partitions": 2}, "has 2 partitions, and files of partition 2"),
        ({"configs": {"retention.ms": "soon"}}, "a config is not allowed"),
        ({"id": "0f5a1c52-6f0a-4f46-8f0e-2f1a4f3f7c11"}, "is damaged"),
    ],
)
def test_a_description_that_does_not_fit_is_found(fields: dict[str, object], problem: str) -> None:
    found = findings(changed_topic(**fields))

    assert found[0].severity is Severity.DAMAGE
    assert problem in found[0].problem


def test_a_name_of_another_topic_is_removed_by_a_repair() -> None:
    disk = small_directory()
    disk.open(f"{the_topic(disk)}/name=payments", create=True)

    (finding,) = findings(disk)

    assert finding.severity is Severity.REBUILDABLE
    assert finding.repair is not None
    finding.repair.apply(disk)
    assert findings(disk) == []
    assert disk.exists(f"{the_topic(disk)}/name={TOPIC}")


def test_two_topics_of_one_name_are_found() -> None:
    disk = small_directory()
    other = f"{DATA}/topics/0f5a1c52-6f0a-4f46-8f0e-2f1a4f3f7c11"
    disk.make_dir(other)
    content = {"name": TOPIC, "id": other.rpartition("/")[2], "partitions": 1, "configs": {}}
    encoded = encode_checked("topic", json.dumps(content).encode())
    replace_file(disk, other, "topic", encoded)
    disk.open(f"{other}/name={TOPIC}", create=True)

    assert any("is a topic of this name, too" in one.problem for one in findings(disk))


def interrupted(damage: Callable[[CrashDisk, str], None]) -> list[Finding]:
    """Return the findings after a compaction that was cut before it changed any name."""
    log = filled_log()
    directory = log.log.directory
    stems = sorted(name[:-4] for name in log.disk.list(directory) if name.endswith(".log"))
    for suffix in (".log", ".index", ".timeindex"):
        data = read_file(log.disk, f"{directory}/{stems[0]}{suffix}") or b""
        log.disk.open(f"{directory}/{stems[0]}{suffix}.cleaned", create=True).append([data])
    promise_swap(log.disk, directory, Swap((int(stems[0]),), aborted=False))
    damage(log.disk, f"{directory}/{SWAP_FILE_NAME}")
    return findings(log.disk.kill())


def test_an_interrupted_compaction_is_a_note() -> None:
    found = interrupted(lambda *_: None)

    assert {one.severity for one in found} == {Severity.NOTE}
    assert any("the next start completes it" in one.problem for one in found)


def test_a_damaged_promise_of_a_compaction_is_damage() -> None:
    found = interrupted(lambda disk, path: disk.open(path).pwrite(40, b"?"))

    damaged = [one for one in found if one.severity is Severity.DAMAGE]
    assert [one.place.path.rpartition("/")[2] for one in damaged] == [SWAP_FILE_NAME]


def test_all_partitions_are_examined() -> None:
    assert examine(small_directory(), DATA).counts.partitions == PARTITIONS
