"""A test suite of a user, run by pytest with an installed Duolog."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from textwrap import dedent
from typing import Final

ROOT: Final = Path(__file__).parents[2]
TIMEOUT_S: Final = 240


class Suite:
    """A folder with tests, and an installed Duolog whose plugin pytest finds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "suite"
        self.folder.mkdir()
        (self.folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self._site = folder / "site"
        self._install()

    def _install(self) -> None:
        """Describe a distribution with Duolog's files and entry points, as a wheel does."""
        described = self._site / "installed_duolog-1.dist-info"
        described.mkdir(parents=True)
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        (name, module), *_ = project["entry-points"]["pytest11"].items()
        (described / "entry_points.txt").write_text(f"[pytest11]\n{name} = {module}\n")
        (described / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: installed-duolog\nVersion: 1\n"
        )
        (described / "RECORD").write_text("duolog/__init__.py,,\nduolog/core/units.py,,\n")

    def write(self, text: str, name: str = "test_it.py") -> None:
        (self.folder / name).write_text(dedent(text))

    def start(self, *options: str) -> "subprocess.Popen[str]":
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        path = os.pathsep.join(filter(None, (str(self._site), os.environ.get("PYTHONPATH"))))
        environment |= {"PYTHONPATH": path, "TMPDIR": str(self.temporary)}
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *options: str) -> str:
        with self.start(*options) as process:
            printed, _ = process.communicate(timeout=TIMEOUT_S)
        return printed

    def left(self) -> list[str]:
        """Return the names of the scratch directories that exist."""
        return [path.name for path in self.temporary.glob("duolog-testing-*")]


def counts(printed: str) -> dict[str, int]:
    found = re.findall(r"(\d+) (passed|failed|errors?|skipped)", printed.splitlines()[-1])
    assert found, printed
    return {kind: int(number) for number, kind in found}
