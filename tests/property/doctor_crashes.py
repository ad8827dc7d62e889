"""Crashes of a data directory on a disk in memory, each decided by a seed, and what the doctor says.

seed % 3    the directory's life
0           ten partitions that share a journal; one or two power failures or kills
1           transactions in one partition, deletions, clean stops; up to three crashes
2           a compaction that the power cuts
"""

import contextlib
from collections.abc import Iterator
from random import Random

from duolog.log.doctor import Severity, examine
from duolog.log.errors import DataDirRefused, LogDirOffline
from duolog.testing.disk import CrashDisk, PowerLost
from property import test_compaction_crashes as compactions
from property import test_log_recovery as many_partitions
from property import test_log_transactions as transactions

CHANGES_OF_A_LIFE = 700
CHANGES_OF_A_COMPACTION = 100


def findings_after_crashes(seed: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the findings of the doctor after each crash and after each start, without notes.

    Acknowledged records survive each of these crashes, so there should be none.
    """
    for when, disk in crashed_disks(seed):
        yield when, problems(disk)


def crashed_disks(seed: int) -> Iterator[tuple[str, CrashDisk]]:
    """Yield the disk after each crash and after each start."""
    lives = (_lives_of_many_partitions, _lives_of_transactions, _life_of_a_compaction)
    return lives[seed % 3](seed)


def problems(disk: CrashDisk) -> list[str]:
    try:
        findings = examine(disk, "/data").findings
    except DataDirRefused as refused:  # The first start was cut before it wrote anything.
        return [refused.message] if disk.list("/data/topics") else []
    return [
        f"{one.severity} {one.place}: {one.problem}"
        for one in findings
        if one.severity is not Severity.NOTE
    ]


def _lives_of_many_partitions(seed: int) -> Iterator[tuple[str, CrashDisk]]:
    random = Random(seed)  # noqa: S311 - chance, not a secret
    broker = many_partitions.Broker(CrashDisk())
    for number in range(1 + seed % 2):
        changes, killed = random.randrange(CHANGES_OF_A_LIFE), random.random() < 0.3
        broker.live(many_partitions.busy_life(changes, seed + number, killed=killed))
        yield "crash", broker.disk
        broker.start()
        broker.disk = broker.disk.kill()
        yield "start", broker.disk


def _lives_of_transactions(seed: int) -> Iterator[tuple[str, CrashDisk]]:
    random = Random(seed)  # noqa: S311 - chance, not a secret
    broker = transactions.Broker(CrashDisk())
    for _ in range(1 + random.randrange(3)):
        steps = [_step(random) for _ in range(40)]
        changes, seed_of_crash = random.randrange(250), random.randrange(2**32)
        killed = random.random() < 0.4
        broker.live(transactions.Life(steps, changes, seed_of_crash, killed))
        yield "crash", broker.disk
        broker.start()
        broker.check_start()
        broker.disk = broker.disk.kill()
        yield "start", broker.disk


def _step(random: Random) -> transactions.Step:
    chance = random.random()
    if chance < 0.5:
        return transactions.Write(
            random.choice((0, *transactions.PRODUCERS)),
            random.randint(1, 3),
            random.randint(0, 300),
            random.random() < 0.66,
        )
    if chance < 0.75:
        producer = random.choice(transactions.PRODUCERS)
        return transactions.Marker(producer, random.random() < 0.5, random.random() < 0.5)
    if chance < 0.9:
        return transactions.Commit()
    return transactions.Delete(random.random()) if chance < 0.97 else transactions.Stop()


def _life_of_a_compaction(seed: int) -> Iterator[tuple[str, CrashDisk]]:
    log = compactions.filled_log()
    cut = Random(seed).randrange(CHANGES_OF_A_COMPACTION)  # noqa: S311 - chance, not a secret
    log.disk.power_off_after(operations=cut)
    with contextlib.suppress(PowerLost, LogDirOffline):
        log.compact()
    log.disk = log.disk.crash(seed)
    yield "crash", log.disk
    log.start()
    log.disk = log.disk.kill()
    yield "start", log.disk
