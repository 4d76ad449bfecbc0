// The metrics of a process, collected by OpenTelemetry and exported in the text form of Prometheus.
// Only metrics of the catalogue can be measured.
import type { Counter, Histogram } from "@opentelemetry/api";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import {
  CATALOGUE,
  type CounterName,
  type HistogramName,
  type LabelsOf,
  type MetricSpec,
  type ObservedName,
} from "./metric-list.ts";

export interface Metrics {
  count<Name extends CounterName>(name: Name, by: number, labels: LabelsOf<Name>): void;
  record<Name extends HistogramName>(name: Name, value: number, labels: LabelsOf<Name>): void;
  /** The values of these metrics are read at each scrape. */
  observe<Name extends ObservedName>(name: Name, ask: () => Asked<Name>): void;
  /** All measured values, in the text form of Prometheus. */
  page(): Promise<string>;
}

type Asked<Name extends ObservedName> =
  | readonly Observation<Name>[]
  | Promise<readonly Observation<Name>[]>;

interface Observation<Name extends ObservedName> {
  readonly value: number;
  readonly labels: LabelsOf<Name>;
}

export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export function createMetrics(): Metrics {
  // Drover's own port serves the page, so the exporter opens none.
  const reader = new PrometheusExporter({ preventServerStart: true });
  const meter = new MeterProvider({ readers: [reader] }).getMeter("drover");
  const serializer = new PrometheusSerializer("", false, undefined, true, true);
  const counters = new Map<string, Counter>();
  const histograms = new Map<string, Histogram>();
  const catalogue: Readonly<Record<string, MetricSpec>> = CATALOGUE;
  for (const [name, { type, unit, help, labels, bounds = [], asked }] of Object.entries(
    catalogue,
  )) {
    const about = { description: help, unit };
    if (type === "counter" && !asked) {
      const counter = meter.createCounter(name, about);
      counters.set(name, counter);
      // A counter must exist before its first event, or the first rate is not seen.
      if (labels.length === 0) counter.add(0);
    }
    if (type === "histogram") {
      const advice = { explicitBucketBoundaries: [...bounds] };
      histograms.set(name, meter.createHistogram(name, { ...about, advice }));
    }
  }

  return Object.freeze({
    count(name, by, labels) {
      counters.get(name)?.add(by, labels);
    },
    record(name, value, labels) {
      histograms.get(name)?.record(value, labels);
    },
    observe(name, ask) {
      const { help: description, unit, type } = CATALOGUE[name];
      const about = { description, unit };
      const made =
        type === "counter"
          ? meter.createObservableCounter(name, about)
          : meter.createObservableGauge(name, about);
      made.addCallback(async (result) => {
        for (const { value, labels } of await ask()) result.observe(value, labels);
      });
    },
    async page() {
      const { resourceMetrics } = await reader.collect();
      return serializer.serialize(resourceMetrics);
    },
  } satisfies Metrics);
}
