"""Calls of users' SQL functions as expressions."""

from collections.abc import Sequence

from duolog.plan.expressions.expressions import Expression, PythonCall
from duolog.plan.expressions.python_functions import PythonFunction
from duolog.plan.sql.user_functions import Routine


def user_call(routine: Routine, args: Sequence[Expression]) -> Expression:
    """Return the call of a routine with arguments of the routine's types."""
    return PythonCall(PythonFunction(routine, routine.arguments, routine.result), tuple(args))
