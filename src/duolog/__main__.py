"""`python -m duolog` is the command `duolog`."""

import sys

from duolog.cli.main import main

sys.exit(main())
