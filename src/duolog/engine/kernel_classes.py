"""The full names of the kernel's Java classes that Python or Spark's settings name."""

from typing import Final, cast

from duolog.engine.java_objects import JavaObject

_ROOT: Final = "org.duolog.kernel"
_PACKAGES: Final = {
    "": ("Driver", "Kernel", "Launcher", "ParentWatch", "Restore"),
    "commit": (
        "Checkpoint",
        "CheckpointFiles",
        "CommitTopic",
        "LocalFiles",
        "RemoteFileServer",
        "SharedDirectory",
        "Transactions",
    ),
    "functions.format.schema": ("RegistryUsers", "SchemaRegistry"),
    "kafka": ("Extensions", "GuardedShuffle", "OrderedKafka", "RealTimeKafka", "TickSource"),
    "metrics": ("Epochs", "Metrics", "Prints"),
    "python": ("Calls", "KeyFunctions", "MetricsPlugin", "ProcessorWorkers", "PythonOutput"),
    "security": ("ClientSecrets", "SecretLogin", "SecretTls", "SecretTokens"),
    "state": ("InitialChangelog", "ProcessorKeys", "StoreReader"),
    "task": ("StartOrder", "TableGate"),
}
_PACKAGE_OF: Final = {name: package for package, names in _PACKAGES.items() for name in names}


def kernel_class_name(name: str) -> str:
    """Return the full name of a class of the kernel.

    Raises:
        KeyError: Python does not use a class of this name.

    Example:
        >>> kernel_class_name("Kernel"), kernel_class_name("Metrics")
        ('org.duolog.kernel.Kernel', 'org.duolog.kernel.metrics.Metrics')
    """
    package = _PACKAGE_OF[name]
    return ".".join(part for part in (_ROOT, package, name) if part)


def kernel_class(jvm: object, name: str) -> JavaObject:
    """Return a class of the kernel in a JVM, given Java's packages as Py4J shows them.

    Raises:
        KeyError: Python does not use a class of this name.
    """
    found = jvm
    for part in kernel_class_name(name).split("."):
        found = getattr(found, part)
    return cast("JavaObject", found)
