"""The sockets by which processes of one user see each other's applications."""

import os
import socket
from pathlib import Path

import pytest

from duolog.engine.query.metrics import Metrics
from duolog.runtime.metrics import local_registry
from unit.engine.query.metrics_samples import full_metrics


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(local_registry, "_sockets", [])
    monkeypatch.setattr(local_registry, "local_applications", lambda: [full_metrics()])
    return tmp_path / "duolog"


def test_applications_are_visible_to_other_processes(runtime: Path) -> None:
    local_registry.register_process()
    local_registry.register_process()

    (reported,) = local_registry.list_applications()

    assert reported["pid"] == os.getpid()
    assert Metrics.from_json(reported) == full_metrics()
    assert runtime.stat().st_mode & 0o777 == 0o700


def test_the_socket_of_a_dead_process_is_removed(runtime: Path) -> None:
    runtime.mkdir(mode=0o700)
    left = runtime / "1.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as gone:
        gone.bind(str(left))

    assert local_registry.list_applications() == []
    assert not left.exists()


def test_a_directory_writable_by_others_is_not_trusted(runtime: Path) -> None:
    runtime.mkdir()
    runtime.chmod(0o777)

    local_registry.register_process()

    assert local_registry.list_applications() == []
    assert list(runtime.iterdir()) == []


@pytest.fixture
def too_long(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory whose path is too long for a socket; its parent takes the place of /tmp."""
    long = runtime.parent / ("x" * 120)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    monkeypatch.setattr(local_registry, "_SHORT", runtime.parent)
    return long


@pytest.mark.usefixtures("too_long")
def test_applications_are_visible_if_the_temporary_directory_has_a_long_path() -> None:
    local_registry.register_process()

    (reported,) = local_registry.list_applications()

    assert reported["pid"] == os.getpid()


def test_an_application_runs_without_a_socket(
    too_long: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_registry, "_SHORT", too_long)

    local_registry.register_process()

    assert local_registry.list_applications() == []
