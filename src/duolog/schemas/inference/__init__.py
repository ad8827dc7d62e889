"""Propose schemas for values that have none, from samples.

observed.py   what the values at one place have been so far; start here
texts.py      texts that look like dates, times and UUIDs
proposal.py   the shape and the facts for observed values
"""

from duolog.schemas.inference.observed import Observed
from duolog.schemas.inference.proposal import FieldFact, propose

__all__ = ["FieldFact", "Observed", "propose"]
