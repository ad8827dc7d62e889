// Lines over time, by uPlot; a table for screen readers is next to them.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { formatTime } from "../lib/format";
import { dark } from "../shell/theme";

export interface Series {
  label: string;
  /** One value for each time; null for a gap. */
  values: readonly (number | null)[];
}

export interface ChartProps {
  /** What the chart shows. */
  label: string;
  /** Milliseconds since 1970, ascending. */
  times: readonly number[];
  series: readonly Series[];
  /** Writes a value of the axis and the legend. */
  format?: (value: number) => string;
  /** In pixels; reserved before the chart is drawn. */
  height?: number;
}

const COLOURS = 5;
const SPAN_S_MIN = 60;

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const height = props.height ?? 160;
  const labels = props.series.map((one) => one.label).join("\n");
  const isDark = dark.value;
  useEffect(() => {
    const parent = box.current!;
    const made = new uPlot(options(props, parent.clientWidth, height), data(props), parent);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: parent.clientWidth, height }));
    observer.observe(parent);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [labels, isDark, height]);
  useEffect(() => plot.current?.setData(data(props)), [props.times, props.series]);
  return (
    <figure class="chart">
      <figcaption class="small soft">{props.label}</figcaption>
      <div ref={box} aria-hidden="true" style={{ minHeight: `${height}px` }} />
      <p class="hidden-text">{summary(props)}</p>
    </figure>
  );
}

function data(props: ChartProps): uPlot.AlignedData {
  return [props.times.map((ms) => ms / 1000), ...props.series.map((one) => [...one.values])];
}

function options(props: ChartProps, width: number, height: number): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const format = props.format ?? ((value: number) => String(value));
  const axis = {
    stroke: colour("--text-soft"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1 },
    font: "11px system-ui, sans-serif",
  };
  return {
    width: Math.max(100, width),
    height,
    cursor: { drag: { x: false, y: false } },
    legend: { show: props.series.length > 1 },
    // In the zone of the reader, which uPlot does not know.
    axes: [{ ...axis, space: 70, values: (_: uPlot, times: number[]) => times.map((s) => formatTime(s * 1000).slice(11, 19)) }, { ...axis, size: 64, values: (_: uPlot, values: number[]) => values.map(format) }],
    scales: {
      // A single point would get an axis of years.
      x: { range: (_: uPlot, low: number, high: number) => [Math.min(low, high - SPAN_S_MIN), high] },
      y: { range: (_: uPlot, low: number, high: number) => [Math.min(0, low), high > low ? high * 1.05 : low + 1] },
    },
    series: [
      { value: (_: uPlot, seconds: number | null) => (seconds === null ? "" : formatTime(seconds * 1000)) },
      ...props.series.map((one, index) => ({
        label: one.label,
        stroke: colour(`--chart-${(index % COLOURS) + 1}`),
        width: 1.5,
        points: { show: props.times.length < 2 },
        value: (_: uPlot, value: number | null) => (value === null ? "" : format(value)),
      })),
    ],
  };
}

function summary(props: ChartProps): string {
  const format = props.format ?? String;
  return props.series
    .map((one) => {
      const known = one.values.filter((value) => value !== null);
      const last = known[known.length - 1];
      if (last === undefined) return `${one.label}: no values`;
      return `${one.label}: now ${format(last)}, lowest ${format(Math.min(...known))}, highest ${format(Math.max(...known))}`;
    })
    .join(". ");
}
