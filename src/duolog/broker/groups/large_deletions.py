"""Deletes groups with very many offsets: some offsets a step, and the group when they are gone.

In between no client can join the group or commit to it: the answer is COORDINATOR_LOAD_IN_PROGRESS,
at which clients try again. So a description of the group is always true of all of it: that it is
deleted, or that it has members and is as it was. A crash in between may leave it with some of its
offsets; then no client got a response.

All of it runs on the broker's loop.
"""

from collections.abc import Callable, Iterator
from typing import Final

from duolog.coordinator.coordinator import GroupCoordinator
from duolog.coordinator.errors import CoordinatorLoadInProgress, GroupError, GroupIdNotFound
from duolog.coordinator.messages import DeletedReply, Letter, Moment, Outcome

AT_ONCE_MAX: Final = 500

Answer = Callable[[DeletedReply], None]


class LargeDeletions:
    """The groups of one broker that are being deleted."""

    def __init__(
        self,
        coordinator: GroupCoordinator,
        carry_out: Callable[[Outcome], None],
        now: Callable[[], Moment],
    ) -> None:
        self._coordinator = coordinator
        self._carry_out = carry_out
        self._now = now
        self._groups: set[str] = set()

    def ensure_stays(self, group_id: str) -> None:
        """Return if the group is not being deleted.

        Raises:
            CoordinatorLoadInProgress: it is: try again.
        """
        if group_id in self._groups:
            raise CoordinatorLoadInProgress(f'group "{group_id}" is being deleted')

    def delete(self, group_id: str, answer: Answer) -> Iterator[None]:
        """Delete a group that can be deleted, in steps."""
        self._groups.add(group_id)
        left = 1

        def dropped(reply: DeletedReply) -> None:
            nonlocal left
            del reply  # Whether the log takes anything is seen at the end, too.
            left -= 1
            if not left:
                self._groups.discard(group_id)
                self._delete_rest(group_id, answer)

        keys = self._coordinator.offsets.keys(group_id)
        for start in range(0, len(keys), AT_ONCE_MAX):
            some = keys[start : start + AT_ONCE_MAX]
            outcome = self._coordinator.offsets.forget(
                group_id, some, lambda _: frozenset(), self._now()
            )
            outcome.deferred.append(Letter(dropped, DeletedReply()))
            left += 1
            self._carry_out(outcome)
            yield
        dropped(DeletedReply())

    def _delete_rest(self, group_id: str, answer: Answer) -> None:
        try:
            self._carry_out(self._coordinator.delete(group_id, answer, self._now()))
        except GroupIdNotFound:  # It held nothing but its offsets.
            answer(DeletedReply())
        except GroupError as error:
            answer(DeletedReply(error.code))
