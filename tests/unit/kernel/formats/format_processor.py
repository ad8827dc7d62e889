"""A processor and a function that a worker loads by their names in the golden conversations.

`worker_conversations.hex` contains the line number of the error below.
"""

from typing import Any, Final

from duolog import Processor, Record, Topology, key_value_store
from duolog.plan.expressions.python_functions import PythonFunction
from duolog.plan.nodes.process import Process
from duolog.plan.processors import Definition
from duolog.plan.types import BIGINT


class Remembering(Processor):
    """Sends each kind of store query, and forwards the results."""

    def init(self, context: Any) -> None:
        self.context = context
        self.store = context.store("said")
        context.schedule("10 milliseconds", "stream time", self.tick)

    def process(self, record: Record) -> None:
        before = self.store.get(record.key)
        self.store.put(record.key, "now")
        found = [key for key, _ in self.store.all()]
        self.store.put("last", record.value and record.value["said"])
        self.context.forward(record.with_value({"said": f"{before} {found}"}))

    def tick(self, time_ms: int) -> None:
        raise ValueError(time_ms)


def _definition() -> Definition:
    topology = Topology("formats")
    columns: dict[str, Any] = {"key": "id STRING", "value": "said STRING"}
    stores = [key_value_store("said", **columns)]
    topology.stream("in", **columns).process(Remembering, stores=stores).to("out")
    (found,) = [node for node in topology.build().nodes if isinstance(node, Process)]
    return found.definition


DEFINITION: Final = _definition()
MAGNITUDE: Final = PythonFunction(abs, (BIGINT,), BIGINT)
