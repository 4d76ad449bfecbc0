// A chart of numbers over time, by uPlot: a column for each time, stacked from one part for each
// series, drawn on a canvas in the colours of the theme. Below it are the sums of the series. The
// numbers are also in a table, which screen readers read.
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import { numberWords } from "../words/counts.ts";
import { clockTime } from "../words/time-words.ts";
import "uplot/dist/uPlot.min.css";
import "./chart.css";

export interface Series {
  readonly name: string;
  /** A name of tokens.css: `--ok`. */
  readonly colour: string;
  readonly values: readonly number[];
}

export interface ChartProps {
  /** What the chart shows, as a sentence for screen readers. */
  readonly label: string;
  /** Seconds since 1970. */
  readonly times: readonly number[];
  /** From the bottom of the columns to their top. */
  readonly series: readonly Series[];
}

/** Columns are minutes. */
const COLUMN_S = 60;
const HEIGHT_PX = 190;
const BAR_SHARE = 0.7;
const BAR_PX_MAX = 26;

export function Chart({ label, times, series }: ChartProps) {
  const container = useRef<HTMLDivElement>(null);
  const drawn = useRef<uPlot | null>(null);
  const names = series.map(({ name, colour }) => `${name} ${colour}`).join("|");
  const data: uPlot.AlignedData = [[...times], ...columnsOf(series)];
  const newest = useRef(data);
  newest.current = data;

  // biome-ignore lint/correctness/useExhaustiveDependencies: `names` identifies the series.
  useEffect(() => {
    const target = container.current;
    if (target === null) return;
    const draw = () => {
      drawn.current?.destroy();
      drawn.current = new uPlot(optionsOf(target, series), newest.current, target);
    };
    draw();
    const resize = new ResizeObserver(() =>
      drawn.current?.setSize({ width: target.clientWidth, height: HEIGHT_PX }),
    );
    resize.observe(target);
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", draw);
    addEventListener("drover-theme", draw);
    return () => {
      resize.disconnect();
      system.removeEventListener("change", draw);
      removeEventListener("drover-theme", draw);
      drawn.current?.destroy();
      drawn.current = null;
    };
  }, [names]);
  useEffect(() => drawn.current?.setData(newest.current));
  return (
    <figure className="chart">
      <div ref={container} aria-hidden="true" />
      <Numbers {...{ label, times, series }} />
      <figcaption>
        {series.map(({ name, colour, values }) => (
          <span key={name}>
            <i style={{ background: `var(${colour})` }} />{" "}
            {numberWords(values.reduce((sum, value) => sum + value, 0))} {name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

/** A time at which all values are 0 needs no row. */
function Numbers({ label, times, series }: ChartProps) {
  const shown = [...times.keys()].filter((at) => series.some(({ values }) => values[at] !== 0));
  return (
    <div className="unseen">
      <table>
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            {series.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((at) => (
            <tr key={times[at]}>
              <th scope="row">{clockTime((times[at] ?? 0) * 1_000).slice(0, 5)}</th>
              {series.map(({ name, values }) => (
                <td key={name}>{numberWords(values[at] ?? 0)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Heights from the bottom, the whole column first: lower parts are drawn over higher ones. */
function columnsOf(series: readonly Series[]): (number | null)[][] {
  const tops = series.map(({ values }, part) =>
    // A value of 0 is drawn as no part, not as a part without height.
    values.map((value, at) =>
      value === 0
        ? null
        : series.slice(0, part + 1).reduce((sum, below) => sum + (below.values[at] ?? 0), 0),
    ),
  );
  return tops.reverse();
}

function optionsOf(target: HTMLElement, series: readonly Series[]): uPlot.Options {
  const style = getComputedStyle(target);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const bars = uPlot.paths.bars?.({ size: [BAR_SHARE, BAR_PX_MAX] });
  const axis = {
    stroke: colour("--dim"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: target.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { y: false, points: { show: false } },
    // Half a column more at both ends, so that none is cut.
    scales: {
      x: { range: (_plot, low, high) => [low - COLUMN_S / 2, high + COLUMN_S / 2] },
      y: { range: (_plot, _low, high) => [0, Math.max(4, Math.ceil((high || 0) * 1.1))] },
    },
    axes: [
      { ...axis, values: (_plot, splits) => splits.map((at) => clockTime(at * 1_000).slice(0, 5)) },
      { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000] },
    ],
    series: [
      {},
      ...series.toReversed().map(({ name, colour: token }) => ({
        label: name,
        stroke: colour(token),
        fill: colour(token),
        points: { show: false },
        ...(bars === undefined ? {} : { paths: bars }),
      })),
    ],
  };
}
