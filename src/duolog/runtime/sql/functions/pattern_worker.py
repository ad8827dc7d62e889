"""The program of `pattern_process`: match patterns until the input ends."""

import json
import sys

from duolog.plan.sql.time_patterns import Unsupported
from duolog.runtime.sql.functions.bounded_patterns import CALLS


def main() -> None:
    """Answer each line of standard input by one of standard output."""
    for line in sys.stdin.buffer:
        name, args = json.loads(line)
        answer: dict[str, object]
        try:
            answer = {"found": CALLS[name](*args)}
        except Unsupported as error:
            answer = {"unsupported": str(error)}
        except Exception:  # noqa: BLE001 - as in ksqlDB, any failure is null
            answer = {"failed": True}
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
