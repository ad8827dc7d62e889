"""Checkpoints at the URL of a Hadoop file system, `hdfs://…`, accessed through a small JVM.

Start with `paths.RemotePath`; `stores` decides which file systems may have a checkpoint, `door` is
the client of the JVM.
"""

from duolog.engine.checkpoint.remote.paths import RemotePath
from duolog.engine.checkpoint.remote.stores import data_dir_at, directory_at, local_dir_of

__all__ = ["RemotePath", "data_dir_at", "directory_at", "local_dir_of"]
