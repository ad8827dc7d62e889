"""Connections and segments share the descriptors of the process."""

import resource

import pytest

from duolog.broker.network.file_descriptors import open_files_max


@pytest.mark.parametrize(
    ("limits", "wanted", "expected"),
    [
        ((1024, 20_000), 0, 4096),
        ((1024, 1024), 0, 512),
        ((1024, 20_000), 100, 100),
        ((1024, 2000), 5000, 1000),
        ((1024, resource.RLIM_INFINITY), 0, 4096),
    ],
)
def test_half_of_the_descriptors_are_left_to_connections(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], wanted: int, expected: int
) -> None:
    raised: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, to: raised.append(to))

    assert open_files_max(wanted) == expected
    assert raised == ([] if limits[0] == limits[1] else [(limits[1], limits[1])])
