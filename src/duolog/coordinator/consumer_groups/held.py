"""Replies to requests without records, delayed until the state that they report is durable.

Records of a group become durable in the order in which they were sent. A letter is therefore
released when the records that were sent before it are durable; later records do not delay it.
"""

from collections import Counter, defaultdict, deque

from duolog.coordinator.messages import Letter


class HeldLetters:
    """The records in flight for each group, and the requests that wait for them."""

    def __init__(self) -> None:
        self._sent: Counter[str] = Counter()
        self._landed: Counter[str] = Counter()
        self._waiting: defaultdict[str, deque[tuple[int, Letter]]] = defaultdict(deque)

    def sent(self, group_id: str) -> None:
        """Count a record that was sent to the log."""
        self._sent[group_id] += 1

    def landed(self, group_id: str) -> None:
        """Count a record that is durable or was abandoned."""
        self._landed[group_id] += 1
        assert self._landed[group_id] <= self._sent[group_id], group_id

    def hold(self, group_id: str, letters: list[Letter]) -> bool:
        """Hold letters if records are in flight; return whether they are held."""
        sent = self._sent[group_id]
        if self._landed[group_id] == sent:
            return False
        self._waiting[group_id] += ((sent, letter) for letter in letters)
        return True

    def released(self, group_id: str) -> list[Letter]:
        """Return the letters of a group that can be sent now."""
        waiting, landed = self._waiting[group_id], self._landed[group_id]
        letters = []
        while waiting and waiting[0][0] <= landed:
            letters.append(waiting.popleft()[1])
        if landed == self._sent[group_id]:
            self._forget(group_id)
        return letters

    def refused(self, group_id: str) -> list[Letter]:
        """Return all letters of a group: the state that they report will not become durable."""
        letters = [letter for _, letter in self._waiting.pop(group_id, ())]
        if self._landed[group_id] == self._sent[group_id]:
            self._forget(group_id)
        return letters

    def _forget(self, group_id: str) -> None:
        for found in (self._sent, self._landed, self._waiting):
            found.pop(group_id, None)
