// The flights demo: its state while it runs, and how it is started.
import { useState } from "preact/hooks";
import { ApiError, asApiError, get, post } from "../../lib/api";
import { formatCount, store, stored } from "../../lib/format";
import { useLoad, type Loaded } from "../../lib/load";
import { ErrorPanel } from "../../parts/empty";
import { ActionButton } from "../../parts/field";
import { Link } from "../../shell/router";

export interface DemoState {
  /** `absent`, `loading`, `live`, `done`, `failed`, or `stopped` with the server. */
  state: string;
  /** Why the demo cannot be started; empty if it can. */
  reason: string;
  hint: string;
  produced: number;
  total: number;
  error: string;
  /** What runs on the flights. */
  statements: string;
}

const EVERY_MS = 2000;
const HIDDEN = "duolog.demo.hidden";

export function useDemo(): Loaded<DemoState> {
  return useLoad("demo", (signal) => get<DemoState>("/v1/demo", { signal }), EVERY_MS);
}

/** Write the flights, then run the statements with the login of the reader. */
export async function startDemo(): Promise<void> {
  const { statements } = await post<DemoState>("/v1/demo", {});
  await post("/ksql", {
    ksql: statements,
    streamsProperties: { "auto.offset.reset": "earliest", "processing.guarantee": "exactly_once_v2" },
  });
}

/** The progress of the flights, and what to do when they have stopped; nothing if the demo was not started. */
export function Demo() {
  const demo = useDemo();
  const [hidden, setHidden] = useState(stored(HIDDEN, ""));
  const found = demo.data;
  if (found === null || found.state === "absent") return null;
  // A later stop, with more flights, is another matter.
  const now = `${found.state} ${found.produced}`;
  if (hidden === now) return null;
  const hide = () => {
    setHidden(now);
    store(HIDDEN, now);
  };
  const numbers = `${formatCount(found.produced)} of ${formatCount(found.total)} flights`;
  switch (found.state) {
    case "failed":
      return (
        <section class="stack" aria-label="Flights demo">
          <ErrorPanel error={new ApiError("The flights of the demo could not be written", -1, 0, found.error)} />
          <Continue demo={demo} label="Try again" onHide={hide} />
        </section>
      );
    case "stopped":
      return (
        <section class="panel stack" aria-label="Flights demo">
          <strong>The flights demo stopped with the server</strong>
          <p>
            {numbers} have arrived. Streams and tables keep their rows, but no flights arrive until you continue.
          </p>
          <Watch />
          <Continue demo={demo} label="Continue the demo" onHide={hide} />
        </section>
      );
    case "done":
      return (
        <section class="panel stack" aria-label="Flights demo">
          <strong>The flights demo has ended</strong>
          <p>
            All {formatCount(found.total)} flights of the year have arrived. The tables have their final counts.
          </p>
          <Watch />
          <div>
            <button onClick={hide}>Hide this</button>
          </div>
        </section>
      );
    default:
      return <Progress found={found} numbers={numbers} />;
  }
}

function Progress(props: { found: DemoState; numbers: string }) {
  const { found, numbers } = props;
  return (
    <section class="panel stack" aria-label="Flights demo">
      <div class="row ends">
        <strong>{found.state === "live" ? "Flights are arriving live" : "The flights demo is being loaded"}</strong>
        <span class="number soft">{numbers}</span>
      </div>
      <progress value={found.produced} max={Math.max(1, found.total)} aria-label="Flights written" />
      <p class="soft small">
        Each flight is joined with the names of its airline and its destination. Two tables count flights and delays. The
        first query starts a JVM, which takes some seconds.
      </p>
      <Watch />
    </section>
  );
}

const WATCHED: readonly [string, string][] = [
  ["flights by airline", "SELECT name, flights, delay_mean FROM by_airline EMIT CHANGES;"],
  ["flights by destination", "SELECT name, flights, delay_mean FROM by_destination EMIT CHANGES;"],
];

/** Links to what the demo computes. */
function Watch() {
  return (
    <p class="row">
      Watch:
      {WATCHED.map(([label, sql]) => (
        <Link key={label} to="/sql" query={{ sql }}>
          {label}
        </Link>
      ))}
      <Link to="/lineage">how they are computed</Link>
    </p>
  );
}

function Continue(props: { demo: Loaded<DemoState>; label: string; onHide: () => void }) {
  const { demo } = props;
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const run = async () => {
    setBusy(true);
    setError(null);
    try {
      await startDemo();
    } catch (failed) {
      setError(asApiError(failed));
    }
    setBusy(false);
    demo.reload();
  };
  return (
    <>
      {error && <ErrorPanel error={error} />}
      <div class="row">
        <ActionButton class="primary" onClick={() => void run()} reason={busy ? "The demo is being started." : reasonOf(demo)}>
          {props.label}
        </ActionButton>
        <button onClick={props.onHide}>Hide this</button>
      </div>
    </>
  );
}

/** Return why the demo cannot be started; empty if it can. */
export function reasonOf(demo: Loaded<DemoState>): string {
  if (demo.data === null) return demo.error?.message ?? "The server is being asked.";
  if (demo.data.state === "loading" || demo.data.state === "live") return "The demo is running: see the overview.";
  return [demo.data.reason, demo.data.hint].filter((part) => part !== "").join(" ");
}
