// A lag with an arrow for its trend, and with a word for people who hear it.
import { withTrend, type Trend } from "./figures";

export function WithTrend(props: { text: string; trend: Trend }) {
  const { text, trend } = props;
  if (text === "" || trend === null) return <>{text}</>;
  return (
    <>
      <span aria-hidden="true">{withTrend(text, trend)}</span>
      <span class="hidden-text">
        {text}, {trend}
      </span>
    </>
  );
}
