"""Refuse in one line, with a hint, if the operating system does not support an operation."""

import sys
from pathlib import Path

import pytest

from duolog.broker.process import BrokerOptions, run
from duolog.core.errors import ConfigError
from duolog.core.operating_system.support import ensure_broker_supported, ensure_spark_supported
from duolog.runtime.broker_process import BrokerProcess


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_linux_and_macos_run_everything(monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    monkeypatch.setattr(sys, "platform", system)

    ensure_broker_supported()
    ensure_spark_supported()


def test_the_broker_is_refused_on_windows_before_it_touches_anything(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")

    with pytest.raises(ConfigError, match="the broker does not run on Windows") as refused:
        run(BrokerOptions(tmp_path / "data"))
    with pytest.raises(ConfigError, match="the broker does not run on Windows"):
        BrokerProcess(tmp_path / "data").start()

    assert "-b HOST:PORT" in refused.value.hint
    assert list(tmp_path.iterdir()) == []


def test_spark_on_windows_needs_its_helper_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delenv("HADOOP_HOME", raising=False)

    with pytest.raises(ConfigError, match=r"winutils\.exe"):
        ensure_spark_supported()
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("HADOOP_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match=r"winutils\.exe"):
        ensure_spark_supported()
    (tmp_path / "bin" / "winutils.exe").touch()

    ensure_spark_supported()
