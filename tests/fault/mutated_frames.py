"""Send mutated requests of every API and version to a broker over socket pairs.

    seed ─▶ a whole request ─▶ one to three mutations ─▶ broker ─▶ an answer, or the connection ends

A request must not raise anything that a handler did not expect, must not raise out of the event
loop, and must not harm another client: one asks for metadata again and again. A broker lives for
some thousand frames, because mutated requests delete topics and fence producers.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from duolog.broker.router import find_apis
from unit.broker.authorization.samples import SAMPLES
from unit.broker.authorization.world import OPEN, SECRET, World, opened

FRAMES_OF_A_BROKER: Final = 2000
_CLIENTS: Final = 64
_TURNS_MAX: Final = 10
_METADATA: Final = 3
_EXTREMES: Final = (0, 1, -1, 2, 127, 128, 2**15 - 1, -(2**15), 2**31 - 1, -(2**31), 2**63 - 1)
_MORE: Final[dict[tuple[int, int], dict[str, Any]]] = {
    (17, 1): {"mechanism": "PLAIN"},
    (18, 3): {"client_software_name": "test", "client_software_version": "1"},
    (36, 2): {"auth_bytes": b"\0alice\0secret"},
}
"""Requests of APIs that need no rights."""


@dataclass
class Outcome:
    """Counts of one run, and the seeds of frames with an unexpected consequence."""

    frames: int = 0
    answered: int = 0
    closed: int = 0
    problems: list[str] = field(default_factory=list)


class _Watch(logging.Handler):
    """Collects log records with a traceback: exceptions that no handler expected."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            self._found.append(f"{record.getMessage()}: {type(error).__name__}: {error}")

    def take(self) -> list[str]:
        """Return what was collected since the last call."""
        found, self._found = self._found, []
        return found


@contextmanager
def _watched() -> Iterator[_Watch]:
    watch, logger = _Watch(), logging.getLogger("duolog")
    propagate = logger.propagate
    logger.addHandler(watch)
    logger.propagate = False  # Each refused frame is a line.
    try:
        yield watch
    finally:
        logger.removeHandler(watch)
        logger.propagate = propagate


def send_mutated(seeds: range) -> Outcome:
    """Send a mutated frame for each seed."""
    outcome = Outcome()
    _load_schemas()
    for first in range(seeds.start, seeds.stop, FRAMES_OF_A_BROKER):
        part = range(first, min(first + FRAMES_OF_A_BROKER, seeds.stop))
        with _watched() as watch, opened() as world:
            _send_part(world, part, watch, outcome)
    return outcome


def _load_schemas() -> None:
    """Let a broker load the schemas of all requests: later ones answer at once."""
    with opened() as world:
        for frame in whole_frames(world):
            client = world.client()
            client.send_bytes(frame)
            world.harness.turn_until(client.drain)


def _send_part(world: World, seeds: range, watch: _Watch, outcome: Outcome) -> None:
    frames = whole_frames(world)
    bystander = world.client()
    for first in range(seeds.start, seeds.stop, _CLIENTS):
        part = range(first, min(first + _CLIENTS, seeds.stop))
        clients = []
        for seed in part:
            client = world.client()
            with suppress(OSError):
                client.send_bytes(mutate(Random(seed), frames))  # noqa: S311 - chance
            world.broker.loop.run_once(0)
            clients.append(client)
            outcome.problems += [f"seed {seed}: {one}" for one in watch.take()]
        for _ in range(_TURNS_MAX):  # Some answers wait for a thread.
            waiting = [one for one in clients if not (one.connection.closed or one.drain())]
            if not waiting:
                break
            world.broker.loop.run_once(0.001)
        outcome.frames += len(part)
        outcome.answered += sum(client.drain() > 0 for client in clients)
        outcome.closed += sum(client.connection.closed for client in clients)
        for client in clients:
            client.socket.close()
        problem = f"seeds {part.start} to {part.stop - 1}"
        outcome.problems += [f"{problem}: {one}" for one in watch.take()]
    assert bystander.ask(_METADATA, 12, topics=None).brokers


def whole_frames(world: World) -> list[bytes]:
    """Return a request for each row of the table of rights, in its first and last version."""
    apis = {int(api.key): api for api in find_apis()}
    client = world.client()
    frames = [client.frame(key, version, **fields) for (key, version), fields in _MORE.items()]
    for sample in SAMPLES.values():
        if sample.key in apis:
            served = apis[sample.key].versions
            for version in {max(served.start, sample.first), min(served.stop - 1, sample.last)}:
                fields = sample.make(world, version, (OPEN, SECRET))
                frames.append(client.frame(sample.key, version, **fields))
    return frames


def mutate(random: Random, frames: list[bytes]) -> bytes:
    """Return one of the frames with one to three changes; its size is right in most cases."""
    body = bytearray(random.choice(frames)[4:])
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        random.choice(_MUTATIONS)(random, body, frames)
    size = len(body)
    if random.random() < 0.02:
        size = random.choice(_EXTREMES)
    return (size & 0xFFFFFFFF).to_bytes(4) + bytes(body)


def _flip(random: Random, body: bytearray, _: list[bytes]) -> None:
    for _bit in range(random.choice((1, 1, 2, 8)) if body else 0):
        body[random.randrange(len(body))] ^= 1 << random.randrange(8)


def _put_extreme(random: Random, body: bytearray, _: list[bytes]) -> None:
    width = random.choice((1, 2, 4, 8))
    value = random.choice(_EXTREMES) & (2 ** (8 * width) - 1)
    at = random.randrange(len(body) + 1)
    body[at : at + width] = value.to_bytes(width)


def _cut(random: Random, body: bytearray, _: list[bytes]) -> None:
    del body[random.randrange(len(body) + 1) :]


def _insert(random: Random, body: bytearray, _: list[bytes]) -> None:
    at = random.randrange(len(body) + 1)
    body[at:at] = random.randbytes(random.randint(1, 40))


def _drop(random: Random, body: bytearray, _: list[bytes]) -> None:
    at = random.randrange(len(body) + 1)
    del body[at : at + random.randint(1, 12)]


def _repeat(random: Random, body: bytearray, _: list[bytes]) -> None:
    at = random.randrange(len(body) + 1)
    body[at:at] = body[at : at + random.randint(1, 60)]


def _splice(random: Random, body: bytearray, frames: list[bytes]) -> None:
    other = random.choice(frames)[4:]
    at = random.randrange(len(body) + 1)
    body[at:] = other[random.randrange(len(other)) :]


def _rename(random: Random, body: bytearray, _: list[bytes]) -> None:
    """Let the frame be of another API or version."""
    body[:4] = random.randrange(-1, 95).to_bytes(2, signed=True) + random.randrange(18).to_bytes(2)


_MUTATIONS: Final = (
    _flip,
    _flip,
    _put_extreme,
    _put_extreme,
    _cut,
    _insert,
    _drop,
    _repeat,
    _splice,
    _rename,
)
