"""A whole agent: `python greeter.py`, with `drover dev` beside it. It ends by SIGTERM or Ctrl-C."""

import logging
import os
from dataclasses import dataclass

import drover_sdk as drover

agent = drover.Agent(os.environ.get("DROVER_ADDRESS", "127.0.0.1:7420"), id="greeter")


@dataclass
class Person:
    """Who is greeted."""

    name: str


@agent.task("greet")
def greet(task: drover.Task, person: Person) -> dict[str, str]:
    """Greets the person in the input."""
    return {"greeting": f"Hello, {person.name}!"}


@agent.task("ungreet")
def ungreet(task: drover.Task) -> None:
    """Takes it back."""
    task.log.info("taken back: %s", task.output)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    agent.run()
