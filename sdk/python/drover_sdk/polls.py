"""The polls of one session: their numbers, and those that ended without an answer.

The server may have granted tasks to a poll whose answer never arrived. So each lost poll is named
in every poll and heartbeat until 30 s after the end of its wait, and what was granted to it is
given back at once. A poll whose answer was read is never named.

A heartbeat that lists all tasks states up to which poll: a poll under way may bring more.
"""

from __future__ import annotations

from dataclasses import dataclass

from drover_sdk.clocks import Clock

_NAMED_FOR = 30.0
# The limit of the contract; beyond it the oldest, nearest to their end, are left out.
_LOST_MOST = 1_000


@dataclass(frozen=True)
class Poll:
    """Counts as under way until it is reported as over or lost."""

    seq: int
    sent: float
    wait: float


class Polls:
    """Of one session."""

    def __init__(self, clock: Clock) -> None:
        """None yet."""
        self._clock = clock
        self._last = 0
        self._under_way: dict[int, None] = {}
        self._lost: list[tuple[int, float]] = []

    def start(self, wait: float) -> Poll:
        """The next number."""
        self._last += 1
        self._under_way[self._last] = None
        return Poll(self._last, self._clock.monotonic(), wait)

    def over(self, poll: Poll) -> None:
        """Its answer was read and its tasks are listed, or it was refused: it brings no others."""
        self._under_way.pop(poll.seq, None)

    def lost(self, poll: Poll) -> None:
        """Its answer will not come."""
        self._under_way.pop(poll.seq, None)
        self._lost.append((poll.seq, poll.sent + poll.wait + _NAMED_FOR))
        self._lost = self._lost[-_LOST_MOST:]

    def lost_polls(self) -> list[int]:
        """The numbers to name now."""
        now = self._clock.monotonic()
        self._lost = [(seq, until) for seq, until in self._lost if until > now]
        return [seq for seq, _ in self._lost]

    def ended_to(self) -> int:
        """This poll and all before it have ended."""
        return next(iter(self._under_way), self._last + 1) - 1
