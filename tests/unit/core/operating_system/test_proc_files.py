"""Resources of processes, with and without /proc."""

import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from duolog.core.operating_system import proc_files
from duolog.core.operating_system.portable import PORTABLE
from duolog.core.operating_system.proc_files import (
    child_ids,
    process_usage,
    processor_ns,
    thread_ids,
)

on_linux = pytest.mark.skipif(sys.platform != "linux" or PORTABLE, reason="reads Linux's /proc")


@on_linux
def test_linux_reports_each_resource() -> None:
    usage = process_usage()

    assert all(getattr(usage, field.name) is not None for field in fields(usage))
    assert usage.resident_bytes is not None
    assert usage.resident_bytes > 10_000_000


def test_other_systems_report_what_python_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proc_files, "PORTABLE", True)
    monkeypatch.setattr(proc_files, "_FD_DIRECTORY", Path("/dev/fd"))

    usage = process_usage()

    assert usage.cpu_s > 0
    assert usage.open_files is not None
    assert usage.open_files_max is None or 2 < usage.open_files < usage.open_files_max
    assert usage.resident_bytes is None


@on_linux
def test_threads_and_children_are_found() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)

    assert child.pid in child_ids(os.getpid())
    assert os.getpid() in thread_ids(os.getpid())
    assert processor_ns(os.getpid())

    child.communicate(b"\n")


def test_without_proc_there_is_nothing_to_report(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(proc_files, "_PROC", tmp_path)

    assert processor_ns(os.getpid()) is None
    assert thread_ids(os.getpid()) == []
    assert child_ids(os.getpid()) == []
