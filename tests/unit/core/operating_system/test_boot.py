"""The boot id: one for each boot, and none where the system has none."""

import sys
from pathlib import Path

import pytest

from duolog.core.operating_system import boot
from duolog.core.operating_system.portable import PORTABLE


def test_the_boot_id_is_constant() -> None:
    assert boot.boot_id() == boot.boot_id()


@pytest.mark.skipif(sys.platform not in {"linux", "darwin"}, reason="known there only")
@pytest.mark.skipif(PORTABLE, reason="/proc is hidden")
def test_this_system_has_a_boot_id() -> None:
    assert boot.boot_id()


def test_a_system_without_a_boot_id_returns_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(boot, "_LINUX", tmp_path / "boot_id")
    monkeypatch.setattr(sys, "platform", "freebsd")

    assert boot.boot_id() is None


def test_an_empty_one_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "boot_id").write_text("\n")
    monkeypatch.setattr(boot, "_LINUX", tmp_path / "boot_id")

    assert boot.boot_id() is None
