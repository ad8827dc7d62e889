"""Access Hadoop's file systems through a small JVM without Spark, by lines of JSON.

    this process ──{"do": "read", "path": "hdfs://…"}──▶ RemoteFileServer (kernel.jar) ──▶ Hadoop's
                 FileContext ◀────────────{"found": …}──────────────

Spark's own JVM is not used: problems of a checkpoint are reported before it starts, and `duolog
state` needs no Spark. The small JVM has Spark's jars, so it reads what Spark reads; its settings
are Hadoop's (`HADOOP_CONF_DIR`), overridden by those that begin with `spark.hadoop.`. It starts
with the first request and ends with this process, when its standard input closes.

Threads: any, one request at a time.
"""

import atexit
import base64
import errno
import json
import os
import subprocess
import threading
from collections.abc import Mapping
from typing import Final, TypedDict

from duolog.engine.errors import FileSystemFailed
from duolog.engine.jvm.jars import kernel_jar, spark_jars
from duolog.engine.jvm.java import ensure_java
from duolog.engine.kernel_classes import kernel_class_name

_MAIN: Final = kernel_class_name("RemoteFileServer")
_OPTIONS: Final = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_OF_HADOOP: Final = "spark.hadoop."
_CONF_DIRS: Final = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
# A person or a start is waiting: by default a client retries for a minute.
_PATIENCE: Final = {
    "ipc.client.connect.max.retries": "3",
    "ipc.client.connect.max.retries.on.timeouts": "1",
    "ipc.client.connect.timeout": "5000",
    "fs.permissions.umask-mode": "022",
}
_WORDS: Final = {
    errno.EHOSTUNREACH: (
        "does not answer",
        "Check that it is running, and that the URL has its host and port.",
    ),
    errno.EACCES: ("refuses access", "Allow this user to read and write there."),
    errno.EROFS: ("is in safe mode, and refuses writes", "Wait until it has left safe mode."),
    errno.EDQUOT: ("is full: a quota is exhausted", "Raise the quota, or free space in it."),
    errno.ENOSPC: ("has no space, or too few live data nodes", "Free space, or start data nodes."),
    errno.EPROTONOSUPPORT: (
        "has a scheme without a client in this Spark",
        (
            "Add the jars of its client with spark.jars=FILE,…, and the settings spark.hadoop.… "
            "that it needs."
        ),
    ),
}


class _Answer(TypedDict, total=False):
    """An answer of `RemoteFileServer`: what it has found, or why it has failed."""

    found: object
    failed: str
    why: str


class Door:
    """A JVM that reads and writes files at URLs; it starts with the first request.

    Args:
        spark: Spark's settings, of which those of Hadoop and `spark.jars` are used.
    """

    def __init__(self, spark: Mapping[str, str]) -> None:
        self.settings = _PATIENCE | {
            name.removeprefix(_OF_HADOOP): value
            for name, value in spark.items()
            if name.startswith(_OF_HADOOP)
        }
        self.jars = tuple(filter(None, spark.get("spark.jars", "").split(",")))
        self._asking = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)

    def ask(self, do: str, path: str, **more: str) -> object:
        """Send a request and return its result.

        Raises:
            FileNotFoundError, FileExistsError: as the system's own calls.
            FileSystemFailed: the file system at the URL is unreachable, or refuses the request.
            JavaMissing, KernelMissing: the JVM cannot be started.
        """
        request = json.dumps({"do": do, "path": path, **more}).encode() + b"\n"
        with self._asking:
            answer = self._answer(request, path)
        if "failed" not in answer:
            return answer["found"]
        number = getattr(errno, answer["failed"])
        if number in (errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY):
            raise OSError(number, os.strerror(number), path)  # FileNotFoundError and so on.
        raise _failed(path, number, answer["why"])

    def read(self, path: str) -> bytes:
        return base64.b64decode(str(self.ask("read", path)))

    def close(self) -> None:
        """End the JVM, if it is running."""
        atexit.unregister(self.close)
        with self._asking:
            process, self._process = self._process, None
        if process is not None:
            _end(process)

    def _answer(self, request: bytes, path: str) -> _Answer:
        if self._process is None or self._process.poll() is not None:
            self._process = self._start()
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(request)
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = b""
        except BaseException:
            # After Ctrl-C the pending answer would be taken for the answer to the next request.
            self._process = None
            _end(process)
            raise
        if not line:
            self._process = None
            _end(process)
            raise _failed(path, errno.EIO, "the JVM that reads it has ended")
        answer: _Answer = json.loads(line)
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        conf = [os.environ[name] for name in _CONF_DIRS if os.environ.get(name)]
        own = [jar.removeprefix("file:") for jar in self.jars]
        class_path = [*conf, str(kernel_jar()), *own, *map(str, spark_jars())]
        process = subprocess.Popen(  # noqa: S603 - a program of ours, with no shell
            [str(ensure_java()), *_OPTIONS, _MAIN],
            env=os.environ | {"CLASSPATH": os.pathsep.join(class_path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Ctrl-C in a terminal reaches the whole process group; this JVM is needed until the
            # end.
            start_new_session=True,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(self.settings).encode() + b"\n")
        return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()  # It buffers nothing.
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:  # Unsent data.
                continue


def _failed(path: str, number: int, why: str) -> FileSystemFailed:
    scheme, _, rest = path.partition("://")
    words, hint = _WORDS.get(number, ("failed", ""))
    return FileSystemFailed(
        f'file system "{scheme}://{rest.partition("/")[0]}" {words}',
        path=path,
        number=number,
        why=why,
        hint=hint,
    )
