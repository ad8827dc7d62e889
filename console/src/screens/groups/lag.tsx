// The lag of a group or partition: number, direction, and a line of the last minutes.
import { formatCount, formatDuration } from "../../lib/format";
import { Unknown } from "../../parts/columns";
import { linePoints, type Sample, type Trend as Direction } from "./model";

const SIGNS = { rising: "▲", falling: "▼", steady: "→" } as const;
const WIDTH = 96;
const HEIGHT = 20;

/** The direction of a lag, as a sign and as a word for screen readers. */
export function TrendSign(props: { trend: Direction }) {
  const { trend } = props;
  if (trend === null) return <span class="trend" />;
  return (
    <span class={`trend ${trend}`} title={`${trend} in the last two minutes`}>
      <span aria-hidden="true">{SIGNS[trend]}</span>
      <span class="hidden-text">{trend}</span>
    </span>
  );
}

/** A number of records with its direction; a dash if it is unknown. */
export function Records(props: { records: string | null; trend: Direction }) {
  return (
    <>
      {props.records === null ? <Unknown /> : formatCount(props.records)} <TrendSign trend={props.trend} />
    </>
  );
}

/** An age with its direction; a dash if it is unknown. */
export function Age(props: { ms: number | null; trend: Direction; complete?: boolean }) {
  const { ms } = props;
  if (ms === null) {
    return (
      <>
        <Unknown /> <TrendSign trend={null} />
      </>
    );
  }
  return (
    <>
      {props.complete === false && "≥ "}
      {ms === 0 ? "0 s" : formatDuration(ms)} <TrendSign trend={props.trend} />
    </>
  );
}

/** A line of samples; its place is reserved before there are two. */
export function Spark(props: { samples: readonly Sample[]; label: string }) {
  const points = linePoints(props.samples, WIDTH, HEIGHT);
  const last = props.samples[props.samples.length - 1];
  const text = last === undefined ? "no samples yet" : `now ${formatCount(last[1])}`;
  return (
    <svg class="spark" width={WIDTH} height={HEIGHT} role="img" aria-label={`${props.label}: ${text}`}>
      {points !== "" && <polyline points={points} />}
    </svg>
  );
}
