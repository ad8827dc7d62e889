"""The kinds of nodes of processors in Python. The kernel's side is `ProcessorOperators.java`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from duolog.engine.lowering.spec.node_spec import Operator


@dataclass(frozen=True, slots=True)
class ProcessOperator(Operator):
    """Calls a user's processor in Python (ADR 0071).

    It forwards the number of an output, and key and value as JSON.
    """

    kind: ClassVar[str] = "process"
    function: str
    record: str
    store: str
    stores: Sequence[str]
    waits: bool


@dataclass(frozen=True, slots=True)
class ProcessOutputOperator(Operator):
    """Creates records from what a processor forwards to one of its outputs."""

    kind: ClassVar[str] = "process_output"
    output: int
    keys: Sequence[str]
    key_columns: Sequence[str]
    values: Sequence[str]
    value_columns: Sequence[str]


@dataclass(frozen=True, slots=True)
class PunctuateOperator(Operator):
    """Passes the wall-clock time to the node `process`; its input is `ticks` of the spec."""

    kind: ClassVar[str] = "punctuate"
    process: int
