"""Is each source topic still the one whose offsets the checkpoint holds?

A topic that was deleted and made anew has the same name, and its offsets begin at 0 again. A query
would go on at its old offset and skip what comes before it, without a word. So the ids of the topics
are kept with the checkpoint, and compared at each start and while the query runs.

A result topic that is deleted under a query comes back with the next record, as the broker makes topics:
not compacted, with other partitions, without what was written before. It is compared while the query runs.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from duolog.engine.errors import ResultTopicRecreated, SourceTopicRecreated

LOOK_EVERY_S: Final = 5.0


@dataclass(slots=True)
class TopicWatch:
    """Asks for the ids of the topics now and then. Threads: one."""

    kept: Mapping[str, str]
    ask: Callable[[Mapping[str, str]], Mapping[str, str]]
    application_id: str
    written: Mapping[str, str] = field(default_factory=dict)
    """The ids of the topics that it writes, as they were when it began."""
    _asked_at: float = field(default_factory=time.monotonic)

    def look(self) -> None:
        """Do nothing where this was asked a moment ago.

        Raises:
            SourceTopicRecreated: a topic has another id.
            ResultTopicRecreated: one that is written has.
        """
        if time.monotonic() - self._asked_at < LOOK_EVERY_S:
            return
        self._asked_at = time.monotonic()
        found = self.ask({**self.written, **self.kept})
        ensure_same_topics(self.kept, found, self.application_id)
        for topic, id_before in self.written.items():
            if found.get(topic, id_before) != id_before and topic not in self.kept:
                raise ResultTopicRecreated(
                    f'result topic "{topic}" was deleted and made anew',
                    query_id=self.application_id,
                    detail="It came back as the broker makes topics, and without what was written to it "
                    "before.",
                    hint="Delete it once more: the next start makes it as it is to be. It then holds what "
                    f"changes from there on; `duolog state reset {self.application_id}` has all of it written again.",
                )


def ensure_same_topics(
    kept: Mapping[str, str], found: Mapping[str, str], application_id: str
) -> None:
    """Compare the ids of topics; one that is not told is not compared.

    Raises:
        SourceTopicRecreated: a topic has another id than the checkpoint says.
    """
    for topic, id_now in found.items():
        if kept.get(topic, id_now) != id_now:
            raise SourceTopicRecreated(
                f'source topic "{topic}" was deleted and made anew',
                query_id=application_id,
                detail=f"Its id is {id_now}; the checkpoint was written from {kept[topic]}. "
                "The offsets in the checkpoint mean other records.",
                hint="Remove the checkpoint to compute everything again from the new topic, or "
                "start under another application id. Results of the old topic stay as they are.",
            )
