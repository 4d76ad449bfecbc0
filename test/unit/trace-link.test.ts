// The template of links to traces: what is accepted, what is refused, and what becomes of it.
import { expect, test } from "vitest";
import { traceLinkOf } from "../../cli/trace-options.ts";
import { traceLinkProblem, traceUrl } from "../../server/api/run/trace-link.ts";

const ID = "4bf92f3577b34da6a3ce929d0e0e4736";

test("the id of the trace replaces its placeholder, wherever it is", () => {
  const jaeger = "http://localhost:16686/trace/{trace_id}";
  expect(traceLinkProblem(jaeger)).toBeNull();
  expect(traceUrl(jaeger, ID)).toBe(`http://localhost:16686/trace/${ID}`);
  const grafana = "https://grafana.example/explore?left=%7B%22query%22:%22{trace_id}%22%7D";
  expect(traceLinkProblem(grafana)).toBeNull();
  expect(traceUrl(grafana, ID)).toContain(`%22${ID}%22`);
});

test("a template that leads to no trace is refused, with the reason", () => {
  const refused = [
    ["http://localhost:16686/", "does not contain {trace_id}"],
    ["localhost:16686/trace/{trace_id}", "is no http or https URL"],
    ["javascript:alert('{trace_id}')", "is no http or https URL"],
    ["http://localhost/{trace_id}?span={span_id}", "may contain no spaces, and no braces but"],
    ["http://local host/{trace_id}", "may contain no spaces, and no braces but"],
  ] as const;
  for (const [template, reason] of refused)
    expect(traceLinkProblem(template), template).toContain(reason);
});

test("a server with such a template does not start", () => {
  expect(traceLinkOf({})).toBeUndefined();
  expect(traceLinkOf({ traceLink: "" })).toBeUndefined();
  const traceLink = "http://localhost:16686/trace/TRACE";
  expect(() => traceLinkOf({ traceLink })).toThrow(
    `the trace link "${traceLink}" does not contain {trace_id}`,
  );
});
