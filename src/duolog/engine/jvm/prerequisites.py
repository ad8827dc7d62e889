"""Check what the engine needs on this machine, without starting anything."""

from duolog.core.engine_packages import ensure_engine_installed
from duolog.engine.jvm.jars import kernel_jar
from duolog.engine.jvm.java import ensure_java


def ensure_can_start() -> None:
    """Ensure that the engine's packages, the kernel and a Java are installed.

    Commands call it before they start a broker, so that a refusal creates no files. The
    connector's jars are not checked: they may still have to be downloaded.

    Raises:
        EngineMissing: only `duolog-broker` is installed.
        KernelMissing: the wheel does not contain the kernel.
        JavaMissing: there is no Java that Spark can run on.
    """
    ensure_engine_installed()
    kernel_jar()
    ensure_java()
