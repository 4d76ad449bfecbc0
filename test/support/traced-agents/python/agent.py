"""An agent in Python that traces itself: what it books has a span of its own, below its try."""

import os

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

import drover_sdk as drover

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
agent = drover.Agent(os.environ["DROVER_ADDRESS"], id="python-agent", queues=["python"])


@agent.task("book")
def book(task: drover.Task) -> None:
    """Asks a service that is not there."""
    with trace.get_tracer("test").start_as_current_span("ask the car rental"):
        pass


agent.run()
