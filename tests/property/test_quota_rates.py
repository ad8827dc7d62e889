"""Rates, tokens and limits of quotas agree with a naive model of Kafka's classes, written from their behaviour."""

from dataclasses import dataclass
from itertools import pairwise, product
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.broker.quotas.entities import CLIENT_ID, USER, Entity
from duolog.broker.quotas.limits import Limit, Limits
from duolog.broker.quotas.meters import RateMeter
from duolog.broker.quotas.rate import Rate, Windows
from duolog.broker.quotas.token_bucket import TokenBucket

windows = st.builds(Windows, st.integers(1, 12), st.sampled_from([1, 7, 1000, 3000]))


@dataclass
class Sample:
    start: int
    last: int
    value: float = 0

    def reset(self, now: int) -> None:
        self.start = self.last = now
        self.value = 0


class NaiveRate:
    """Kafka's `Rate` of a `WindowedSum`: everything is computed at each call."""

    def __init__(self, windows: Windows) -> None:
        self.num, self.size = windows
        self.samples: list[Sample] = []
        self.current = 0

    def record(self, value: float, now: int) -> None:
        self._ensure_one(now)
        if now - self.samples[self.current].start >= self.size:
            self.current = (self.current + 1) % (self.num + 1)
            if self.current >= len(self.samples):
                self.samples.append(Sample(now, now))
            else:
                self.samples[self.current].reset(now)
        self.samples[self.current].value += value
        self.samples[self.current].last = now

    def measure(self, now: int) -> float:
        self._ensure_one(now)
        for sample in self.samples:
            if now - sample.last >= self.num * self.size:
                sample.reset(now)
        total = sum(sample.value for sample in self.samples)
        elapsed = now - min(sample.start for sample in self.samples)
        full = elapsed // self.size
        if full < self.num - 1:
            elapsed += (self.num - 1 - full) * self.size
        self.elapsed = max(elapsed, 1)
        return total / (self.elapsed / 1000)

    def _ensure_one(self, now: int) -> None:
        if not self.samples:
            self.samples.append(Sample(now, now))


def steps_of(windows: Windows) -> st.SearchStrategy[list[tuple[int, int, bool]]]:
    """Return (passed ms, value, measured) rows, with times around the bounds of windows."""
    num, size = windows
    near = [0, 1, size - 1, size, size + 1, num * size - 1, num * size, num * size + 1]
    passed = st.one_of(st.sampled_from([max(0, ms) for ms in near]), st.integers(0, 2 * size))
    return st.lists(st.tuples(passed, st.integers(0, 10**9), st.booleans()), max_size=80)


@given(data=st.data(), windows=windows)
def test_a_rate_is_that_of_kafka_at_every_moment(data: st.DataObject, windows: Windows) -> None:
    rate, naive = Rate(windows), NaiveRate(windows)
    now = data.draw(st.integers(0, 10**6))

    for passed, value, measured in data.draw(steps_of(windows)):
        now += passed
        if measured:
            assert rate.measure(now) == pytest.approx(naive.measure(now))
            assert rate.elapsed_ms(now) == naive.elapsed
        else:
            rate.record(value, now)
            naive.record(value, now)
            assert rate.measure(now) == pytest.approx(naive.measure(now))


@given(data=st.data(), windows=windows, limit=st.integers(1, 10**6))
def test_the_throttle_time_is_that_of_kafka(
    data: st.DataObject, windows: Windows, limit: int
) -> None:
    """The excess over the limit, as a share of it, times the window that the rate is taken over."""
    meter, naive, now = RateMeter((None, None), limit, windows), NaiveRate(windows), 0
    allowed = max(1, round(meter.at_once))
    sizes = st.integers(1, 2 * allowed)

    for passed, size in data.draw(st.lists(st.tuples(st.integers(0, 2000), sizes), max_size=40)):
        now += passed
        naive.record(size, now)
        excess = naive.measure(now) - limit
        expected = max(0.0, excess / limit * naive.elapsed)
        assert meter.record(size, now) == pytest.approx(expected, abs=0.51, rel=1e-9)


def test_the_first_byte_above_the_limit_waits() -> None:
    meter = RateMeter((None, None), 1000, Windows())

    assert meter.record(10_000, 0) == 0
    assert meter.record(1, 0) == 1


@pytest.mark.parametrize("samples", [1, 2, 11])
def test_a_sample_that_reaches_into_the_span_counts_wholly(samples: int) -> None:
    """It began one window before the span: so there is one sample more than windows."""
    rate = Rate(Windows(samples, 1000))
    rate.record(7, 0)
    rate.record(1, 999)

    for window in range(1, samples + 1):
        rate.record(1, window * 1000)

    assert rate.total(samples * 1000) == 8 + samples


@given(data=st.data(), windows=windows)
def test_an_idle_rate_can_be_forgotten(data: st.DataObject, windows: Windows) -> None:
    """Once nothing was added for all windows, a new rate answers the same ever after."""
    rate, now = Rate(windows), 0
    for passed, value, _ in data.draw(steps_of(windows)):
        now += passed
        rate.record(value, now)
    now += data.draw(st.integers(0, 2 * windows.span_ms))
    if not rate.is_idle(now):
        return

    assert rate.measure(now) == Rate(windows).measure(now) == 0


@given(
    data=st.data(),
    windows=st.builds(Windows, st.integers(1, 12), st.sampled_from([1000, 3000])),
    limit=st.integers(1, 10**6),
)
def test_a_client_that_waits_as_told_stays_at_its_limit(
    data: st.DataObject, windows: Windows, limit: int
) -> None:
    """In any span, no more is used than the limit, the burst, two windows and one request on top."""
    meter, now = RateMeter((None, None), limit, windows), 0
    largest = max(1, limit * windows.window_ms // 1000)
    used: list[tuple[int, int]] = []

    for size in data.draw(st.lists(st.integers(1, largest), min_size=1, max_size=200)):
        used.append((now, size))
        now += meter.record(size, now)

    burst = meter.at_once + largest + 2 * limit * windows.window_ms / 1000
    for first, (start, _) in enumerate(used):
        total = 0
        for at, size in used[first:]:
            total += size
            assert total <= limit * (at - start + 1) / 1000 + burst + limit / 1000


class NaiveTokens:
    """Kafka's `TokenBucket`, which begins empty at the time 0 of 1970, so full."""

    def __init__(self, limit: float, windows: Windows) -> None:
        self.limit, self.burst = limit, windows.samples * windows.window_ms / 1000 * limit
        self.level, self.at = self.burst, 0

    def measure(self, now: int) -> float:
        self.level = min(self.burst, self.level + self.limit * (now - self.at) / 1000)
        self.at = now
        return self.level

    def record(self, count: float, now: int) -> None:
        self.level = min(self.burst, self.measure(now) - count)


@given(
    windows=windows,
    limit=st.floats(0.01, 1000),
    steps=st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 500)), max_size=50),
)
def test_tokens_are_those_of_kafka(
    windows: Windows, limit: float, steps: list[tuple[int, int]]
) -> None:
    bucket, naive, now = TokenBucket(limit, windows), NaiveTokens(limit, windows), 10**6
    naive.at = now

    for passed, count in steps:
        now += passed
        assert bucket.tokens(now) == pytest.approx(naive.measure(now), abs=1e-6)
        bucket.take(count, now)
        naive.record(count, now)
        wait_ms = bucket.wait_ms(now)
        assert (wait_ms > 0) == (bucket.tokens(now) < 0)
        assert bucket.tokens(now) + limit * wait_ms / 1000 > -1e-6


NAMES: Final = (None, "a", "b")
ENTITIES: Final[tuple[Entity, ...]] = (
    *(((USER, name),) for name in NAMES),
    *(((CLIENT_ID, name),) for name in NAMES),
    *(((CLIENT_ID, client), (USER, user)) for user, client in product(NAMES, NAMES)),
)


def documented(values: dict[Entity, float], user: str, client: str) -> Limit | None:
    """Return the limit by the order of Kafka's documentation, 4.1 "Enforcing Client Quotas"."""
    order: list[tuple[str | None, str | None, bool, bool]] = [
        (user, client, True, True),
        (user, "<default>", True, True),
        (user, None, True, False),
        ("<default>", client, True, True),
        ("<default>", "<default>", True, True),
        ("<default>", None, True, False),
        (None, client, False, True),
        (None, "<default>", False, True),
    ]
    for of_user, of_client, by_user, by_client in order:
        parts = {USER: of_user, CLIENT_ID: of_client}
        entity = tuple(
            sorted(
                (kind, None if name == "<default>" else name)
                for kind, name in parts.items()
                if name is not None
            )
        )
        if entity in values:
            return Limit(values[entity], user if by_user else None, client if by_client else None)
    return None


LEVELS: Final[tuple[Entity, ...]] = (
    ((CLIENT_ID, "c"), (USER, "u")),
    ((CLIENT_ID, None), (USER, "u")),
    ((USER, "u"),),
    ((CLIENT_ID, "c"), (USER, None)),
    ((CLIENT_ID, None), (USER, None)),
    ((USER, None),),
    ((CLIENT_ID, "c"),),
    ((CLIENT_ID, None),),
)


@pytest.mark.parametrize(("first", "second"), list(pairwise(range(len(LEVELS)))))
def test_each_level_is_preferred_to_the_next_one(first: int, second: int) -> None:
    quotas = {LEVELS[level]: {"q": float(level)} for level in (second, first)}

    limit = Limits("q", quotas).find("u", "c")

    assert limit is not None
    assert limit.value == first


@given(
    values=st.dictionaries(st.sampled_from(ENTITIES), st.integers(1, 10**6).map(float)),
    user=st.sampled_from(["a", "b", "c"]),
    client=st.sampled_from(["a", "b", "c", ""]),
)
def test_the_most_specific_limit_applies(
    values: dict[Entity, float], user: str, client: str
) -> None:
    limits = Limits("q", {entity: {"q": value} for entity, value in values.items()})

    assert limits.find(user, client) == documented(values, user, client)
    assert bool(limits) == bool(values)
    assert Limits("other", {entity: {"q": 1.0} for entity in values}).find(user, client) is None
