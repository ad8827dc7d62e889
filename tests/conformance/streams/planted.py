"""The kernel with one changed line of source code, in the running JVM.

The changed class is compiled against the kernel's jar, and a child-first class loader loads both
again. The kernel of the other tests is unchanged.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from conformance.streams.in_memory import OpenDriver

KERNEL: Final = Path(__file__).parents[3] / "jvm/src/org/duolog/kernel"


def planted_driver(
    spark: SparkSession, java_class: str, line: str, planted: str, directory: Path
) -> OpenDriver:
    """Return a function that opens a kernel driver in which `planted` replaces `line`."""
    (file,) = KERNEL.rglob(f"{java_class}.java")
    source = file.read_text()
    assert source.count(line) == 1, (
        f"{java_class} has no such line any more: update the planted bug\n{line}"
    )
    changed = directory / f"{java_class}.java"
    changed.write_text(source.replace(line, planted))
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no other way to the JVM
    real = java.java.lang.Class.forName("org.duolog.kernel.Driver")
    jar = real.getProtectionDomain().getCodeSource().getLocation()
    class_path = java.java.lang.System.getProperty("java.class.path")
    words = ["-nowarn", "-proc:none", "-implicit:none", "-d", str(directory)]
    words += ["-cp", f"{jar.getPath()}:{class_path}", str(changed)]
    # In the running JVM, whose compiler is warm; by interface, as the class is not exported.
    compiler = java.javax.tools.ToolProvider.getSystemJavaCompiler()
    methods = java.java.lang.Class.forName("javax.tools.Tool").getMethods()
    run = next(method for method in methods if method.getName() == "run")
    arguments = [None, None, None, _array(spark, "String", words)]
    assert run.invoke(compiler, _array(spark, "Object", arguments)) == 0
    own = java.java.io.File(str(directory)).toURI().toURL()
    loader = java.org.apache.spark.util.ChildFirstURLClassLoader(
        _array(spark, "URL", [own, jar]), real.getClassLoader()
    )
    constructor = loader.loadClass("org.duolog.kernel.Driver").getConstructors()[0]
    return lambda session, spec: _Reflected(
        spark, constructor.newInstance(_array(spark, "Object", [session, spec]))
    )


class _Reflected:
    """A Java object with uncached methods: Py4J caches them by class name."""

    def __init__(self, spark: SparkSession, target: Any) -> None:
        self._spark = spark
        self._target = target
        self._methods = list(target.getClass().getMethods())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            method = next(method for method in self._methods if method.getName() == name)
            return method.invoke(self._target, _array(self._spark, "Object", list(arguments)))

        return call


def _array(spark: SparkSession, kind: str, items: list[Any]) -> Any:
    java: Any = spark._jvm  # noqa: SLF001
    of = java.java.net.URL if kind == "URL" else getattr(java.java.lang, kind)
    array = spark.sparkContext._gateway.new_array(of, len(items))  # type: ignore[union-attr] # noqa: SLF001
    for index, item in enumerate(items):
        array[index] = item
    return array
