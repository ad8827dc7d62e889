// What uses a topic, for the question whether to delete it.
import { get } from "../../lib/api";
import { visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import type { ReaderList } from "./readers";

interface Graph {
  nodes: { id: string; kind: string; name: string }[];
}

const NAMED = 8;

export function UsedBy(props: { topic: string }) {
  const { topic } = props;
  const readers = useLoad(`readers|${topic}`, (signal) =>
    get<ReaderList>(`/v1/topics/${encodeURIComponent(topic)}/readers`, { signal }),
  );
  const graph = useLoad(`around|${topic}`, (signal) => get<Graph>("/v1/graph", { query: { around: `topic:${topic}` }, signal }));
  const unknown = [readers.error, graph.error].some((one) => one !== null && one.status !== 404);
  const waits = (readers.data === null && readers.error === null) || (graph.data === null && graph.error === null);
  const found = usersOf(readers.data, graph.data);
  return (
    <div role="status" style={{ minHeight: "42px" }}>
      {waits && <span class="soft">Looking for what uses it…</span>}
      {!waits && found.length === 0 && !unknown && <span>Nothing that you may see uses it.</span>}
      {found.map(([kind, names]) => (
        <div key={kind}>
          {kind}: <strong>{listed(names)}</strong>
        </div>
      ))}
      {unknown && <div class="soft">Not all that may use it could be looked up.</div>}
    </div>
  );
}

/** Return what reads or writes a topic, by kind. */
export function usersOf(readers: ReaderList | null, graph: Graph | null): [string, string[]][] {
  const of = (kind: string) => (graph?.nodes ?? []).filter((one) => one.kind === kind).map((one) => one.name);
  const groups = (readers?.groups ?? []).map((one) =>
    (one.members ?? 0) > 0 ? `${one.group} (${one.members} ${one.members === 1 ? "member" : "members"})` : one.group,
  );
  const found: [string, string[]][] = [
    ["Groups that read it", groups],
    ["Streams and tables before or after it", [...of("stream"), ...of("table")]],
    ["Queries before or after it", of("query")],
  ];
  return found.filter(([, names]) => names.length > 0);
}

function listed(names: readonly string[]): string {
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
  return `${names.slice(0, NAMED).map(visible).join(", ")}${more}`;
}
