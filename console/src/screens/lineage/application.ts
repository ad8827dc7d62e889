// The graph of the application, as /v1/graph has it, and as it is drawn.
import { formatCount, formatDuration, formatRate } from "../../lib/format";
import type { GraphEdge, GraphNode } from "../../parts/graph";
import { withTrend, type Trend } from "../queries/figures";

export interface ApplicationNode {
  id: string;
  kind: "query" | "stream" | "table" | "topic";
  name: string;
  state?: string;
  error?: string;
  server?: string;
  lagRecords?: number | null;
  lagMs?: number | null;
  lagMsTrend?: Trend;
  errors?: number | null;
  records?: number | null;
}

export interface ApplicationGraph {
  leftOut: number;
  nodes: ApplicationNode[];
  edges: { from: string; to: string; recordsPerSecond: number | null }[];
}

const BAD = ["ERROR", "UNRESPONSIVE"];

/** Return nodes and edges for the drawing. */
export function drawn(graph: ApplicationGraph): { nodes: GraphNode[]; edges: GraphEdge[] } {
  return {
    nodes: graph.nodes.map((one) => ({
      id: one.id,
      label: one.name,
      kind: one.kind,
      note: noteOf(one),
      tone: one.state === undefined ? undefined : BAD.includes(one.state) ? "bad" : one.state === "RUNNING" ? "good" : "warn",
    })),
    edges: graph.edges.map((one) => ({
      from: one.from,
      to: one.to,
      label: formatRate(one.recordsPerSecond),
      live: (one.recordsPerSecond ?? 0) > 0,
    })),
  };
}

/** The second line of a node: never empty for a kind that may have one, so that nothing moves. */
function noteOf(node: ApplicationNode): string | undefined {
  if (node.kind === "topic") return node.records === null || node.records === undefined ? "topic" : `${formatCount(node.records)} records`;
  if (node.kind !== "query") return undefined;
  if (node.state !== "RUNNING") return (node.state ?? "").toLowerCase();
  if (node.lagMs === null || node.lagMs === undefined) return "running";
  return `lag ${withTrend(formatDuration(node.lagMs), node.lagMsTrend ?? null)}`;
}
