// A small line of the last quarter of an hour, in a table.
import { linesOf } from "./figures";

const WIDTH = 96;
const HEIGHT = 20;

export function Sparkline(props: { label: string; values: readonly (number | null)[] }) {
  const lines = linesOf(props.values, WIDTH, HEIGHT);
  return (
    <svg
      class="sparkline"
      width={WIDTH}
      height={HEIGHT + 4}
      viewBox={`-2 -2 ${WIDTH + 4} ${HEIGHT + 4}`}
      role="img"
      aria-label={props.label}
    >
      {lines.map((points, index) =>
        points.length === 1 ? (
          <circle key={index} cx={points[0]!.x} cy={points[0]!.y} r={1.6} />
        ) : (
          <polyline key={index} points={points.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ")} />
        ),
      )}
    </svg>
  );
}
