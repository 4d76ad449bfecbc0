"""The agent of this project: it polls for the tasks that it has handlers for, and performs them.

Drover decides what happens next; a handler only reports how its task ended.
"""

import os
from dataclasses import dataclass

import drover_sdk as drover

agent = drover.Agent(os.environ.get("DROVER_ADDRESS", "127.0.0.1:7420"), id="seats-1")


@dataclass
class Order:
    card: str


@dataclass
class Seat:
    seat: str


@dataclass
class Charge:
    charge: str


@agent.task("reserve-seat")
def reserve_seat(task: drover.Task, order: Order) -> Seat:
    return Seat("12A")


@agent.task("release-seat")
def release_seat(task: drover.Task) -> None:
    print("the seat is free again", flush=True)


@agent.task("charge-card")
def charge_card(task: drover.Task, order: Order) -> Charge:
    if order.card == "none":
        raise drover.PermanentError("no-card", "There is no card to charge.")
    # The same for every try of this task: a payment service charges once for each key.
    return Charge(task.idempotency_key)


if __name__ == "__main__":
    print("agent seats-1 waits for tasks", flush=True)
    agent.run()
