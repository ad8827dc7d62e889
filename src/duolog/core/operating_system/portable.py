"""The setting that hides the calls which only Linux has.

`DUOLOG_PORTABLE=1` makes a process on Linux use the calls that macOS has, too. Duolog's tests run
with it. It is read once, at import: set it before the process starts.
"""

import os
from typing import Final

VARIABLE: Final = "DUOLOG_PORTABLE"
PORTABLE: Final[bool] = os.environ.get(VARIABLE) == "1"
