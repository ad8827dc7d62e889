// The difference of two versions. What draws it is loaded when it is first needed.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { asApiError, type ApiError } from "../../lib/api";
import { useLoad } from "../../lib/load";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { Select } from "../../parts/field";
import { queryOf, setQuery } from "../../shell/router";
import { differenceOf, pretty, type Versions } from "./api";
import type { DifferenceProps } from "./difference";

export function CompareView(props: { subject: string; versions: Versions["versions"] }) {
  const { subject, versions } = props;
  const numbers = versions.map((one) => String(one.version));
  const to = queryOf("to") || (numbers.at(-1) ?? "");
  const from = queryOf("from") || (numbers.at(-2) ?? to);
  const found = useLoad(`${subject}\n${from}\n${to}`, (signal) => differenceOf(subject, from, to, signal));
  if (versions.length < 2) {
    return (
      <Empty title="There is only one version">
        <p>To compare, register another one with “New version”.</p>
      </Empty>
    );
  }
  const options = [...numbers].reverse();
  return (
    <div class="stack">
      <div class="row bottom">
        <Select label="From version" value={from} onChange={(value) => setQuery({ from: value, to })} options={options} />
        <Select label="To version" value={to} onChange={(value) => setQuery({ from, to: value })} options={options} />
        <button onClick={() => setQuery({ from: to, to: from })}>Swap</button>
      </div>
      {found.error && <ErrorPanel error={found.error} onRetry={found.reload} />}
      {found.data === null && found.error === null && <Waiting />}
      {found.data !== null && (
        <Shown
          key={`${from}\n${to}`}
          from={pretty(found.data.from.schema, found.data.from.schemaType)}
          to={pretty(found.data.to.schema, found.data.to.schemaType)}
          label={`Difference from version ${from} to version ${to}`}
        />
      )}
    </div>
  );
}

/** Two texts, with what changed; the words say it, too. */
export function Shown(props: DifferenceProps) {
  const [Difference, setDifference] = useState<ComponentType<DifferenceProps> | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  useEffect(() => {
    import("./difference").then(
      (module) => setDifference(() => module.Difference),
      (failed: unknown) => setError(asApiError(failed)),
    );
  }, []);
  if (error !== null) return <ErrorPanel error={error} />;
  if (props.from === props.to) return <p role="status">The two texts are the same.</p>;
  return Difference === null ? <Waiting /> : <Difference {...props} />;
}
