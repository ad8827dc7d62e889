"""A JVM that is left to itself gives back the heap that its queries needed. A small JVM of its own, without Spark."""

import subprocess
from pathlib import Path

from duolog.engine.jvm.class_archive import SHRINKS
from duolog.engine.jvm.jars import kernel_jar
from duolog.engine.jvm.java import ensure_java
from duolog.engine.spark import session_conf

MIB = 1 << 20
OPTIONS = [*session_conf._JVM_OPTIONS.split(), SHRINKS]  # noqa: SLF001
PROGRAM = """
import org.duolog.kernel.ParentWatch;

public class Heap {
  static void hold() {
    byte[][] held = new byte[300][];
    for (int i = 0; i < held.length; i++) {
      held[i] = new byte[1 << 20];
    }
    System.out.println(held.length + Runtime.getRuntime().totalMemory());
  }

  public static void main(String[] words) {
    hold();
    ParentWatch.end();
    System.out.println(Runtime.getRuntime().totalMemory());
  }
}
"""


def test_the_heap_shrinks_to_what_lives_in_it(tmp_path: Path) -> None:
    """The JVM wrote its archive with up to 1.4 GB. With the options of a session's JVM."""
    file = tmp_path / "Heap.java"
    file.write_text(PROGRAM)
    command = [str(ensure_java()), *OPTIONS, "-Xmx1g", "-cp", str(kernel_jar()), str(file)]

    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    assert done.returncode == 0, done.stderr
    before, after = map(int, done.stdout.split())
    assert before > 300 * MIB
    assert after < before - 150 * MIB
