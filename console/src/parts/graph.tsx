// A directed graph, laid out by dagre and drawn as SVG; every node is reachable by keyboard.
import dagre from "@dagrejs/dagre";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

export interface GraphNode {
  id: string;
  label: string;
  /** A second line, such as a rate. */
  note?: string | undefined;
  /** The shape and colour: a stream, a table, a query, a topic, another thing. */
  kind?: "stream" | "table" | "query" | "topic" | "plain";
  tone?: "good" | "warn" | "bad" | undefined;
}

export interface GraphEdge {
  from: string;
  to: string;
  label?: string | undefined;
  /** Whether records flow now: the line moves. */
  live?: boolean;
}

export interface GraphProps {
  /** What the graph shows. */
  label: string;
  nodes: readonly GraphNode[];
  edges: readonly GraphEdge[];
  selected?: string | null;
  onOpen?: (id: string) => void;
  /** From left to right by default. */
  direction?: "LR" | "TB";
}

const CHARACTER = 7.4;
const NODES_MAX = 200;
const STEP = 1.25;
const ZOOM_MIN = 0.2;
const READABLE = 0.6;
const ZOOM_MAX = 3;
/** The part of the window's height that a graph takes at most. */
const HEIGHT_PART = 0.7;

export function Graph(props: GraphProps) {
  const nodes = props.nodes.slice(0, NODES_MAX);
  const shape = JSON.stringify([nodes.map((one) => [one.id, one.label, one.note !== undefined]), props.edges.map((one) => [one.from, one.to]), props.direction]);
  const layout = useMemo(() => layoutOf(nodes, props.edges, props.direction ?? "LR"), [shape]);
  const [zoom, setZoom] = useState(1);
  const svg = useRef<SVGSVGElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const scale = (factor: number) => setZoom((now) => bounded(now * factor));
  const whole = () => {
    const high = innerHeight * HEIGHT_PART;
    return bounded(Math.min(1, (scroller.current!.clientWidth - 4) / layout.width, high / layout.height));
  };
  const fit = () => setZoom(whole());
  // A graph that is larger than the window is smaller at first, as far as it can be read.
  useLayoutEffect(() => setZoom(Math.max(READABLE, whole())), [layout]);
  useEffect(() => {
    const box = scroller.current!;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return; // The page scrolls.
      event.preventDefault();
      scale(event.deltaY < 0 ? STEP : 1 / STEP);
    };
    // Listeners of preact are passive on some browsers: the page would zoom, too.
    box.addEventListener("wheel", onWheel, { passive: false });
    return () => box.removeEventListener("wheel", onWheel);
  }, []);
  const order = [...layout.nodes.values()].sort((a, b) => a.x - b.x || a.y - b.y).map((one) => one.id);
  const first = props.selected ?? order[0];
  const named = new Map(nodes.map((one) => [one.id, `${kindOf(one)}${one.label}`]));
  const focus = (id: string | undefined) => {
    if (id === undefined) return;
    svg.current?.querySelector<SVGGElement>(`[data-node="${CSS.escape(id)}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent, id: string) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = order.indexOf(id);
    if (event.key === "Enter" || event.key === " ") props.onOpen?.(id);
    else if (event.key === "ArrowRight" || event.key === "j") focus(props.edges.find((one) => one.from === id)?.to ?? order[at + 1]);
    else if (event.key === "ArrowLeft" || event.key === "k") focus(props.edges.find((one) => one.to === id)?.from ?? order[at - 1]);
    else if (event.key === "ArrowDown") focus(order[at + 1]);
    else if (event.key === "ArrowUp") focus(order[at - 1]);
    else if (event.key === "Home") focus(order[0]);
    else if (event.key === "End") focus(order[order.length - 1]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const onZoomKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") scale(STEP);
    else if (event.key === "-") scale(1 / STEP);
    else if (event.key === "0") setZoom(1);
    else if (event.key === "f") fit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="graph">
      <div class="row ends graph-tools">
        <span class="soft small">
          {nodes.length < props.nodes.length && `The first ${NODES_MAX} of ${props.nodes.length} nodes`}
        </span>
        <span class="row">
          <button class="small" onClick={() => scale(1 / STEP)} aria-label="Smaller" title="Smaller (-)">
            −
          </button>
          <button class="small" onClick={() => setZoom(1)} aria-label="1:1, original size" title="Original size (0)">
            1:1
          </button>
          <button class="small" onClick={() => scale(STEP)} aria-label="Larger" title="Larger (+)">
            +
          </button>
          <button class="small" onClick={fit} title="Show the whole graph (f)">
            Fit
          </button>
        </span>
      </div>
      <div
        class="graph-scroll"
        ref={scroller}
        tabIndex={0}
        role="region"
        aria-label={`${props.label}: arrow keys move between nodes, Enter opens one, + and - zoom`}
        onKeyDown={onZoomKey}
        onPointerDown={(event) => pan(event, scroller.current!)}
      >
        <svg
          ref={svg}
          width={layout.width * zoom}
          height={layout.height * zoom}
          viewBox={`0 0 ${layout.width} ${layout.height}`}
          role="group"
          aria-label={props.label}
        >
          <defs>
            <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
              <path d="M0 0 8 4 0 8z" class="arrow" />
            </marker>
          </defs>
          {props.edges.map((edge, index) => {
            const path = layout.edges[index];
            return (
              path && (
                <g key={`${edge.from}>${edge.to}>${index}`} aria-hidden="true">
                  <path class={edge.live === true ? "edge live" : "edge"} d={path.d} marker-end="url(#arrow)" />
                  {edge.label && (
                    <text class="edge-label" x={path.x} y={path.y - 5} text-anchor="middle">
                      {edge.label}
                    </text>
                  )}
                </g>
              )
            );
          })}
          {nodes.map((node) => {
            const at = layout.nodes.get(node.id)!;
            return (
              <g
                key={node.id}
                data-node={node.id}
                class={`node ${node.kind ?? "plain"} ${node.tone ?? ""} ${props.selected === node.id ? "selected" : ""}`}
                role={props.onOpen === undefined ? "img" : "button"}
                tabindex={node.id === first ? 0 : -1} // SVG knows this name in lower case only.
                aria-label={described(node, props.edges, named)}
                transform={`translate(${at.x - at.width / 2} ${at.y - at.height / 2})`}
                onClick={() => props.onOpen?.(node.id)}
                onKeyDown={(event) => onKeyDown(event, node.id)}
              >
                <rect width={at.width} height={at.height} rx={node.kind === "query" ? at.height / 2 : 5} />
                <text x={at.width / 2} y={node.note === undefined ? at.height / 2 + 5 : 18} text-anchor="middle">
                  {node.label}
                </text>{" "}
                {node.note !== undefined && (
                  <text class="node-note" x={at.width / 2} y={34} text-anchor="middle">
                    {node.note}
                  </text>
                )}
              </g>
            );
          })}
        </svg>
      </div>
    </div>
  );
}

function bounded(zoom: number): number {
  return Math.max(ZOOM_MIN, Math.min(ZOOM_MAX, zoom));
}

/** Move the graph while the background is dragged. */
function pan(event: PointerEvent, box: HTMLDivElement): void {
  const target = event.target as Element;
  if (event.button !== 0 || event.pointerType !== "mouse" || target.closest("[data-node]") !== null) return;
  const [x, y, left, top] = [event.clientX, event.clientY, box.scrollLeft, box.scrollTop];
  const onMove = (moved: PointerEvent) => {
    box.scrollLeft = left + x - moved.clientX;
    box.scrollTop = top + y - moved.clientY;
  };
  box.setPointerCapture(event.pointerId);
  box.addEventListener("pointermove", onMove);
  const end = () => box.removeEventListener("pointermove", onMove);
  box.addEventListener("pointerup", end, { once: true });
  box.addEventListener("pointercancel", end, { once: true });
}

function kindOf(node: GraphNode): string {
  return node.kind === undefined || node.kind === "plain" ? "" : `${node.kind} `;
}

function described(node: GraphNode, edges: readonly GraphEdge[], named: ReadonlyMap<string, string>): string {
  const to = edges.filter((one) => one.from === node.id).map((one) => named.get(one.to) ?? one.to);
  const kind = kindOf(node);
  // The visible text must be a part of the name, for readers who say what they see.
  const shown = [node.label, node.note].filter((part) => part !== undefined).join(" ");
  return [`${kind}${shown}`, to.length > 0 && `leads to ${to.join(", ")}`].filter(Boolean).join("; ");
}

interface Layout {
  width: number;
  height: number;
  nodes: Map<string, { id: string; x: number; y: number; width: number; height: number }>;
  edges: ({ d: string; x: number; y: number } | null)[];
}

function layoutOf(nodes: readonly GraphNode[], edges: readonly GraphEdge[], direction: string): Layout {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: direction, nodesep: 22, ranksep: 64, marginx: 12, marginy: 16 });
  graph.setDefaultEdgeLabel(() => ({}));
  const known = new Set(nodes.map((one) => one.id));
  for (const node of nodes) {
    const letters = Math.max(node.label.length, (node.note?.length ?? 0) * 0.9);
    graph.setNode(node.id, { width: Math.max(64, letters * CHARACTER + 26), height: node.note === undefined ? 32 : 44 });
  }
  const drawn = edges.map((edge) => known.has(edge.from) && known.has(edge.to));
  for (const [index, edge] of edges.entries()) {
    if (drawn[index] === true) graph.setEdge(edge.from, edge.to, {}, String(index));
  }
  dagre.layout(graph);
  const found = graph.graph();
  return {
    width: Math.max(80, found.width ?? 80),
    height: Math.max(60, found.height ?? 60),
    nodes: new Map(
      nodes.map(({ id }) => {
        const { x, y, width, height } = graph.node(id) as { x: number; y: number; width: number; height: number };
        return [id, { id, x, y, width, height }];
      }),
    ),
    edges: edges.map((edge, index) => {
      if (drawn[index] !== true) return null;
      const { points } = graph.edge(edge.from, edge.to, String(index)) as { points: { x: number; y: number }[] };
      const middle = points[Math.floor(points.length / 2)]!;
      return { d: curve(points), x: middle.x, y: middle.y };
    }),
  };
}

function curve(points: readonly { x: number; y: number }[]): string {
  const [start, ...rest] = points;
  let d = `M${start!.x} ${start!.y}`;
  for (const [index, point] of rest.entries()) {
    const next = rest[index + 1];
    if (next === undefined) d += ` L${point.x} ${point.y}`;
    else d += ` Q${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}`;
  }
  return d;
}
