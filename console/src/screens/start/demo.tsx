// The flights demo: its state while it runs, and how it is started.
import { get, post } from "../../lib/api";
import { formatCount } from "../../lib/format";
import { useLoad, type Loaded } from "../../lib/load";
import { ErrorPanel } from "../../parts/empty";
import { ApiError } from "../../lib/api";

export interface DemoState {
  /** `absent`, `loading`, `live`, `done`, `failed`. */
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

/** The progress of the flights; nothing if the demo was not started. */
export function Demo() {
  const demo = useDemo();
  const found = demo.data;
  if (found === null || found.state === "absent" || found.state === "done") return null;
  if (found.state === "failed") {
    return <ErrorPanel error={new ApiError("The flights of the demo were not written", -1, 0, found.error)} />;
  }
  return (
    <section class="panel stack" aria-label="Flights demo">
      <div class="row ends">
        <strong>{found.state === "live" ? "Flights are arriving live" : "The flights demo is being loaded"}</strong>
        <span class="number soft">
          {formatCount(found.produced)} of {formatCount(found.total)} flights
        </span>
      </div>
      <progress value={found.produced} max={Math.max(1, found.total)} aria-label="Flights written" />
      <p class="soft small">
        Two tables count the flights and their delays: <code>BY_AIRLINE</code> and <code>BY_DESTINATION</code>. The first
        query starts a JVM, which takes some seconds.
      </p>
    </section>
  );
}
