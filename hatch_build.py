"""The build hook: compiles the kernel into the wheel.

    jvm/*.java  ──javac──►  src/duolog/engine/kernel.jar  ──►  the wheel, or the editable install

javac needs the jars of the installed pyspark and of Spark's Kafka connector, so that this hook
runs without build isolation (`pip install --no-build-isolation`), and fetches the connector jars
first. Installing the finished wheel requires a Java runtime, but no JDK.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNEL = "src/duolog/engine/kernel.jar"


class KernelHook(BuildHookInterface[Any]):
    """Compiles `jvm/` before the files of the wheel are collected."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernel from the current sources, or raise and leave no kernel."""
        root = Path(self.root)
        _run(root, "-m", "duolog.engine.jvm.jars")
        _run(root, str(root / "jvm/build.py"), "--out", str(root / KERNEL))
        build_data["artifacts"].append(KERNEL)

    def clean(self, versions: list[str]) -> None:
        """Remove the kernel."""
        (Path(self.root) / KERNEL).unlink(missing_ok=True)


def _run(root: Path, *arguments: str) -> None:
    """Run this Python with Duolog's sources, which are not installed yet."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    done = subprocess.run([sys.executable, *arguments], cwd=root, env=environment, check=False)
    if done.returncode:
        # The program has said what is missing; pip shows it above this line.
        sys.exit(f"error: the kernel was not built: {' '.join(arguments)} failed")
