"""Start a JVM while the broker, topics and checks of an application are prepared.

    EarlyJvm.start ─▶ a thread opens the session ─┐
    broker, topics, checks                        ├─▶ `Application.open` gets it at once
                                                  └─▶ `release`: the application owns it

Errors are not reported here: `Application.open` tries again and reports them.
"""

import contextlib
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from duolog.core.errors import DuologError

if TYPE_CHECKING:
    from duolog.engine.spark.session import Session


class EarlyJvm:
    """Holds the session of this process until an application does.

    Args:
        settings: engine settings of the application, by name.
        data_dir: directory of the application's log.
    """

    def __init__(self, settings: Mapping[str, str], data_dir: Path) -> None:
        self._settings = settings
        self._data_dir = data_dir.resolve()
        self._share: Session | None = None
        self._given_up = threading.Event()
        self._thread = threading.Thread(target=self._open, name="early-jvm", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._given_up.set()
        self.release()

    def release(self) -> None:
        """Release the session; it stays open as long as an application holds it."""
        self._thread.join()
        share, self._share = self._share, None
        if share is not None:
            share.close()

    def _open(self) -> None:
        # Imported here: pyspark takes half a second, for which the broker's start does not wait.
        from duolog.engine.spark.session import open_session  # noqa: PLC0415
        from duolog.runtime.application import engine_config  # noqa: PLC0415

        with contextlib.suppress(DuologError, OSError):
            config = engine_config(self._settings, self._data_dir)
            self._share = open_session(config, given_up=self._given_up)
