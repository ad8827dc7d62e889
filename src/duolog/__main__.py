"""Run the command `duolog` with `python -m duolog`."""

import sys

from duolog.cli.main import main

sys.exit(main())
