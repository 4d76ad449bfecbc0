"""The agent for hotels, in Python."""

import json
import os
import urllib.request

import drover_sdk as drover

agent = drover.Agent(os.environ["DROVER_ADDRESS"], id="hotels", queues=["travel"])


def call(method: str, key: str) -> object:
    url = f"{os.environ['SERVICES']}/hotel"
    request = urllib.request.Request(url, method=method, headers={"idempotency-key": key})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


@agent.task("book-hotel")
def book(task: drover.Task) -> object:
    return call("POST", task.idempotency_key)


@agent.task("cancel-hotel")
def cancel(task: drover.Task) -> object:
    return call("DELETE", task.effect_key)


agent.run()
