"""The lease of one task and the time of its attempt, by the agent's own monotonic clock.

A lease counts from when the call that granted or renewed it was *sent*: the server cannot have
started to count before, so the agent never believes to hold what the server has given away. The
attempt counts from the same time, and nothing extends it. Each end is reported once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from drover_sdk.clocks import Clock, Timer

LeaseEnd = Literal["lease-ended", "attempt-over"]


class Lease:
    """Times are those of the clock, in seconds."""

    def __init__(
        self,
        clock: Clock,
        granted: float,
        lease_for: float,
        attempt_for: float,
        on_end: Callable[[LeaseEnd], None],
    ) -> None:
        """`granted`: the sending of the call that granted it, plus `waited`."""
        self._clock = clock
        self._on_end = on_end
        self._lease_end = granted + lease_for
        self._attempt_end = granted + attempt_for
        self._shortened = False
        self._timer: Timer | None = None
        self._arm()

    @property
    def end(self) -> float:
        """The end of lease or attempt, whichever is sooner."""
        return min(self._lease_end, self._attempt_end)

    def left(self) -> float:
        """What is left of both; 0 when one has ended."""
        return max(0.0, self.end - self._clock.monotonic())

    def renew(self, sent: float, lease_for: float) -> None:
        """A heartbeat was answered with "carry on"."""
        if not self._shortened:
            self._lease_end = max(self._lease_end, sent + lease_for)

    def shorten(self, sent: float, within: float) -> None:
        """A heartbeat was answered with "cancel": from now on nothing makes the lease longer."""
        self._shortened = True
        self._lease_end = min(self._lease_end, sent + within)

    def stop(self) -> None:
        """Its end no longer matters."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def _arm(self) -> None:
        self._timer = self._clock.after(self.end - self._clock.monotonic(), self._fire)

    def _fire(self) -> None:
        # A renewal only moves the end: the timer finds that out when it fires.
        self._timer = None
        if self._clock.monotonic() < self.end:
            self._arm()
        else:
            first = self._lease_end <= self._attempt_end
            self._on_end("lease-ended" if first else "attempt-over")
