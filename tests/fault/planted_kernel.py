"""Build a kernel jar with some changed source lines, for processes that a test starts."""

import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Final

from duolog.engine.jvm.jars import connector_jars, kernel_jar, spark_home

SOURCES: Final = Path(__file__).parents[2] / "jvm/src/org/duolog/kernel"


def planted_kernel(java_class: str, lines: str, planted: str, directory: Path) -> Path:
    """Return a copy of the kernel's jar in which `planted` stands for `lines` of a class."""
    (file,) = SOURCES.rglob(f"{java_class}.java")
    source = file.read_text()
    assert source.count(lines) == 1, (
        f"{java_class} no longer has these lines: update the planted bug\n{lines}"
    )
    changed = directory / f"{java_class}.java"
    changed.write_text(source.replace(lines, planted))
    classes = directory / "classes"
    classes.mkdir()
    against = [kernel_jar(), spark_home() / "jars/*", *connector_jars()]
    words = ["javac", "--release", "17", "-nowarn", "-proc:none", "-d", str(classes), "-cp"]
    subprocess.run([*words, os.pathsep.join(map(str, against)), str(changed)], check=True)
    own = {path.relative_to(classes).as_posix(): path for path in classes.rglob("*.class")}
    made = directory / "kernel.jar"
    with zipfile.ZipFile(kernel_jar()) as real, zipfile.ZipFile(made, "w") as jar:
        for name in real.namelist():
            if name not in own:
                jar.writestr(name, real.read(name))
        for name, path in own.items():
            jar.write(path, name)
    shutil.rmtree(classes)
    return made
