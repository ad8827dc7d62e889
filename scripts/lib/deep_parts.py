"""Assign the deep tests to parts of less than an hour each, and store when each part last passed.

`tests/deep_parts.json` keeps three things:

    parts     number of parts
    groups    part and seconds of each group; a group is a file, or a test function of a file
              that is too long for one part
    passed    for each part: date and commit of its last pass, number of tests, minutes

A group stays in its part until the file is edited. A test file that is not listed belongs to the
part with the fewest seconds, and is listed when that part passes. Only a passing part writes the
file (`tests/deep_run.py`).

Run as a program, it prints the table: `scripts/test --deep --parts`.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, TypedDict

FILE: Final = Path(__file__).parents[2] / "tests/deep_parts.json"
MINUTES_MAX: Final = 60
# Assumed duration of a group that has not been measured.
UNKNOWN_SECONDS: Final = 60


class Group(TypedDict):
    """Part of a group of tests, and its duration when that part last passed."""

    part: int
    seconds: int


class Pass(TypedDict):
    """The last pass of a part."""

    at: str
    commit: str
    minutes: int
    tests: int


class PartsError(Exception):
    """The requested part does not exist."""


@dataclass(frozen=True)
class Parts:
    """Content of the file."""

    count: int
    groups: Mapping[str, Group]
    passed: Mapping[str, Pass]

    @classmethod
    def read(cls, file: Path = FILE) -> Self:
        """Read the file."""
        kept = json.loads(file.read_text(encoding="utf-8"))
        return cls(kept["parts"], kept["groups"], kept["passed"])

    def write(self, file: Path = FILE) -> None:
        """Write the file with one group per line."""
        groups = _lines({name: self.groups[name] for name in sorted(self.groups)})
        passed = _lines({part: self.passed[part] for part in sorted(self.passed, key=int)})
        text = f'"parts": {self.count},\n"groups": {{{groups}}},\n"passed": {{{passed}}}'
        file.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")

    def part_named(self, name: str) -> int:
        """Return 3 for "3/8"; raise PartsError if there is no such part."""
        number, _, count = name.partition("/")
        if count == str(self.count) and number.isdecimal() and 1 <= int(number) <= self.count:
            return int(number)
        raise PartsError(
            f'there is no part "{name}" of the deep tests; use 1/{self.count} to '
            f"{self.count}/{self.count}"
        )

    def group_of(self, nodeid: str) -> str:
        """Return the longest listed group that the test belongs to, else its file."""
        listed = (name for name in self.groups if _holds(name, nodeid))
        return max(listed, key=len, default=nodeid.partition("::")[0])

    def parts_of(self, nodeids: Iterable[str]) -> dict[str, int]:
        """Return the part of each test."""
        group_of = {nodeid: self.group_of(nodeid) for nodeid in nodeids}
        part_of = {name: group["part"] for name, group in self.groups.items()}
        seconds = dict.fromkeys(range(1, self.count + 1), 0)
        for group in self.groups.values():
            seconds[group["part"]] += group["seconds"]
        for name in sorted(set(group_of.values()) - set(part_of)):
            part_of[name] = min(seconds, key=lambda part: (seconds[part], part))
            seconds[part_of[name]] += UNKNOWN_SECONDS
        return {nodeid: part_of[name] for nodeid, name in group_of.items()}

    def after(self, part: int, entry: Pass, seconds_of: Mapping[str, float]) -> "Parts":
        """Return the content after a part has passed; `seconds_of` has durations by test."""
        groups = {name: group for name, group in self.groups.items() if group["part"] != part}
        measured: dict[str, float] = {}
        for nodeid, seconds in seconds_of.items():
            name = self.group_of(nodeid)
            measured[name] = measured.get(name, 0) + seconds
        for name, seconds in measured.items():
            groups[name] = Group(part=part, seconds=round(seconds))
        return Parts(self.count, groups, {**self.passed, str(part): entry})

    def table(self) -> str:
        """Return the table of the parts as text."""
        rows = ["part  tests  minutes  last passed       commit      groups"]
        for part in range(1, self.count + 1):
            passed = self.passed.get(str(part))
            names = sum(group["part"] == part for group in self.groups.values())
            name = f"{part}/{self.count}"
            if passed is None:
                rows.append(f"{name:<4}  {'':>5}  {'':>7}  {'never':<16}  {'':<10}  {names}")
            else:
                rows.append(
                    f"{name:<4}  {passed['tests']:>5}  {passed['minutes']:>7}  {passed['at']:<16}"
                    f"  {passed['commit']:<10}  {names}"
                )
        return "\n".join(rows)


def _holds(group: str, nodeid: str) -> bool:
    return nodeid == group or nodeid.startswith((f"{group}::", f"{group}["))


def _lines(entries: Mapping[str, Group] | Mapping[str, Pass]) -> str:
    """Return the entries as JSON, one per line."""
    lines = (f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
    return ",".join(f"\n  {line}" for line in lines) + "\n" * bool(entries)


if __name__ == "__main__":
    sys.stdout.write(Parts.read().table() + "\n")
