// Why a query does not run, with what to do.
import { problemOf } from "../../lib/statements";
import type { Query } from "../queries/figures";

export function QueryProblem({ query }: { query: Pick<Query, "error" | "state" | "failures"> }) {
  if (query.error === "") return null;
  const { message, detail, hint } = problemOf(query.error);
  return (
    <section class="error-panel" aria-label="Error of the query">
      <strong>{message}</strong>
      {detail && <div>{detail}</div>}
      {hint && <div>{hint}</div>}
      {query.failures > 0 && (
        <div class="small">
          {query.failures === 1 ? "It has failed once" : `It has failed ${query.failures} times`} on this server. The
          server retries, and waits longer each time.
        </div>
      )}
    </section>
  );
}
