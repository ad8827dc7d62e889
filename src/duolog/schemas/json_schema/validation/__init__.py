"""Validation of a JSON value against a schema. Start with `validator.py`.

Each schema becomes a list of checks, one for each keyword, at its first use. A check returns the
first problem that it finds, or None.

- A regular expression that RE2 cannot run restricts nothing: see `patterns.py`.
- `format` restricts nothing unless it is asked for, as the newer drafts say.
- Floats of a value count as the decimal number that JSON would show: 0.3 is a multiple of 0.1.
- What a `$ref` says about a value is remembered, or references that share definitions could take
  exponential time.

Source: the specifications of drafts 4, 6, 7, 2019-09 and 2020-12.
"""

from duolog.schemas.json_schema.validation.run import Problem
from duolog.schemas.json_schema.validation.validator import Validator

__all__ = ["Problem", "Validator"]
