"""The limit of file descriptors is raised as far as the system allows."""

import resource

import pytest

from duolog.core.operating_system.limits import raise_descriptors_max

UNLIMITED = resource.RLIM_INFINITY


class FakeLimits:
    """The limits of file descriptors on macOS: soft limits above OPEN_MAX are refused."""

    def __init__(self, soft: int, hard: int, open_max: int = 10_240) -> None:
        self.soft, self.hard, self.open_max = soft, hard, open_max

    def get(self, _kind: int) -> tuple[int, int]:
        return self.soft, self.hard

    def set(self, _kind: int, limits: tuple[int, int]) -> None:
        soft, hard = limits
        if soft == UNLIMITED or soft > self.open_max:
            raise ValueError("current limit exceeds maximum limit")
        self.soft, self.hard = soft, hard


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (FakeLimits(256, UNLIMITED), 10_240),
        (FakeLimits(256, 4096), 4096),
        (FakeLimits(4096, 4096), 4096),
        (FakeLimits(10_240, UNLIMITED), 10_240),
        (FakeLimits(256, UNLIMITED, open_max=300), 256),
        (FakeLimits(UNLIMITED, UNLIMITED), None),
    ],
    ids=["macos", "low", "raised", "at-open-max", "refused", "unlimited"],
)
def test_macos_gets_as_many_descriptors_as_it_allows(
    monkeypatch: pytest.MonkeyPatch, limits: FakeLimits, expected: int | None
) -> None:
    monkeypatch.setattr(resource, "getrlimit", limits.get)
    monkeypatch.setattr(resource, "setrlimit", limits.set)

    assert raise_descriptors_max() == expected
    assert limits.soft == (UNLIMITED if expected is None else expected)
