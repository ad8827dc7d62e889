// The safe viewer of values: everything is text in text nodes; controls and marks of direction are
// visible escapes. Nothing large is made at once: trees open on request, long texts come in pieces.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { asApiError, send, url, type ApiError } from "../lib/api";
import { formatBytes, formatCount, visible } from "../lib/format";
import { Badge } from "./badge";
import { ErrorPanel } from "./empty";
import { copyText } from "./table";
import {
  CHILDREN_STEP,
  HEX_STEP,
  TEXT_STEP,
  bytesOf,
  children,
  cut,
  hexRows,
  kindOf,
  parsed,
  scalar,
  sizeOf,
  type Part,
} from "./values";

export { preview, type Part } from "./values";

type View = "tree" | "text" | "hex";

/** A key, value or header; `address` is the path of all its bytes, if the server has one. */
export function ValueView(props: { title: string; part: Part | null; address?: string }) {
  const [whole, setWhole] = useState<Uint8Array | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => setWhole(null), [props.address]);
  const part = props.part;
  if (part === null) {
    return (
      <section class="value" aria-label={props.title}>
        <h3>
          {props.title} <Badge>null</Badge>
        </h3>
      </section>
    );
  }
  const load = async () => {
    setBusy(true);
    setError(null);
    try {
      const response = await send("GET", props.address!, { headers: { Accept: "application/octet-stream" } });
      setWhole(new Uint8Array(await response.arrayBuffer()));
    } catch (failed) {
      setError(asApiError(failed));
    }
    setBusy(false);
  };
  return (
    <section class="value stack" aria-label={props.title}>
      <div class="row ends">
        <h3 class="row">
          {props.title} <Badge tone="info">{part.format}</Badge>
          {part.schemaId !== undefined && <Badge>schema {part.schemaId}</Badge>}
          <span class="soft small">{formatBytes(part.bytes)}</span>
        </h3>
        <div class="row">
          {part.truncated && whole === null && props.address !== undefined && (
            <button type="button" class="small" disabled={busy} onClick={() => void load()}>
              Load all {formatBytes(part.bytes)}
            </button>
          )}
          <button type="button" class="small" onClick={() => void copyText(part.text)} aria-label={`Copy ${props.title.toLowerCase()}`}>
            Copy
          </button>
          {props.address !== undefined && (
            <a class="button small" href={url(props.address)} download aria-label={`Download ${props.title.toLowerCase()}`}>
              Download
            </a>
          )}
        </div>
      </div>
      {part.problem && <p class="soft small">{visible(part.problem)}</p>}
      {error && <ErrorPanel error={error} />}
      {whole === null ? <Shown part={part} title={props.title} /> : <Whole bytes={whole} part={part} title={props.title} />}
    </section>
  );
}

function Shown(props: { part: Part; title: string }) {
  const { part } = props;
  const tree = useMemo(() => (part.kind === "json" && !part.truncated ? parsed(part.text) : undefined), [part]);
  const views: View[] = [...(tree === undefined ? [] : (["tree"] as View[])), ...(part.kind === "hex" ? [] : (["text"] as View[])), "hex"];
  const [wanted, setView] = useState<View>("tree");
  const view = views.includes(wanted) ? wanted : views[0]!;
  return (
    <>
      <Views of={props.title} views={views} view={view} onView={setView} />
      {part.truncated && (
        <p class="soft small">
          These are the first {formatCount(part.text.length)} characters of {formatBytes(part.bytes)}.
        </p>
      )}
      {view === "tree" && <Tree value={tree} />}
      {view === "text" && <LongText text={part.text} />}
      {view === "hex" && <Hex bytes={bytesOf(part)} />}
    </>
  );
}

/** All bytes of a value; decoding ten megabytes takes some milliseconds, showing them is done in pieces. */
function Whole(props: { bytes: Uint8Array; part: Part; title: string }) {
  const text = useMemo(
    () => (props.part.kind === "hex" ? null : new TextDecoder().decode(props.bytes)),
    [props.bytes],
  );
  const [view, setView] = useState<View>(text === null ? "hex" : "text");
  return (
    <>
      <Views of={props.title} views={text === null ? ["hex"] : ["text", "hex"]} view={view} onView={setView} />
      <p class="soft small" role="status">
        All {formatBytes(props.bytes.length)} are loaded.
      </p>
      {view === "text" && text !== null ? <LongText text={text} /> : <Hex bytes={props.bytes} />}
    </>
  );
}

function Views(props: { of: string; views: View[]; view: View; onView: (view: View) => void }) {
  const names = { tree: "Tree", text: "Text", hex: "Hex" };
  if (props.views.length < 2) return null;
  return (
    <div class="row" role="group" aria-label={`View of the ${props.of.toLowerCase()}`}>
      {props.views.map((one) => (
        <button
          type="button"
          key={one}
          class="small"
          aria-pressed={props.view === one}
          onClick={() => props.onView(one)}
        >
          {names[one]}
        </button>
      ))}
    </div>
  );
}

/** A text, of which a piece more is shown on request. */
export function LongText(props: { text: string }) {
  const [most, setMost] = useState(TEXT_STEP);
  useEffect(() => setMost(TEXT_STEP), [props.text]);
  // Pieces stay as they are: the browser lays out only the new one.
  const pieces: string[] = [];
  for (let at = 0; at < Math.min(most, props.text.length); at += TEXT_STEP) {
    pieces.push(visible(props.text.slice(at, Math.min(at + TEXT_STEP, most))));
  }
  const left = props.text.length - most;
  return (
    <div class="value-box" tabIndex={0} role="region" aria-label="Text">
      {pieces.map((piece, at) => (
        <pre key={at} class="wrap">
          {piece}
        </pre>
      ))}
      {left > 0 && (
        <button type="button" class="small" onClick={() => setMost((n) => n + TEXT_STEP)}>
          Show more: {formatCount(left)} characters left
        </button>
      )}
    </div>
  );
}

function Hex(props: { bytes: Uint8Array }) {
  const [most, setMost] = useState(HEX_STEP);
  useEffect(() => setMost(HEX_STEP), [props.bytes]);
  const left = props.bytes.length - most;
  return (
    <div class="value-box" tabIndex={0} role="region" aria-label="Bytes">
      <pre>{hexRows(props.bytes, 0, most).join("\n")}</pre>
      {left > 0 && (
        <button type="button" class="small" onClick={() => setMost((n) => n + HEX_STEP)}>
          Show more: {formatBytes(left)} left
        </button>
      )}
    </div>
  );
}

function Tree(props: { value: unknown }) {
  return (
    <div class="value-box tree" tabIndex={0} role="region" aria-label="Tree">
      <ul>
        <Node name={null} value={props.value} open />
      </ul>
    </div>
  );
}

function Node(props: { name: string | null; value: unknown; open?: boolean }) {
  const kind = kindOf(props.value);
  const name = props.name === null ? null : <span class="tree-name">{visible(cut(props.name, 200).text)}: </span>;
  if (kind !== "object" && kind !== "array") {
    return (
      <li>
        {name}
        <Scalar value={props.value} kind={kind} />
      </li>
    );
  }
  return <Branch name={name} label={props.name ?? "value"} value={props.value} isArray={kind === "array"} open={props.open === true} />;
}

function Branch(props: { name: ComponentChildren; label: string; value: unknown; isArray: boolean; open: boolean }) {
  const [open, setOpen] = useState(props.open);
  const [most, setMost] = useState(CHILDREN_STEP);
  const size = sizeOf(props.value);
  const counted = `${formatCount(size)} ${props.isArray ? (size === 1 ? "item" : "items") : size === 1 ? "field" : "fields"}`;
  return (
    <li>
      <button
        type="button"
        class="tree-toggle"
        aria-expanded={open}
        aria-label={`${cut(props.label, 60).text}, ${counted}`}
        onClick={() => setOpen(!open)}
      >
        <span aria-hidden="true">{open ? "▾" : "▸"}</span> {props.name}
        <span class="soft">
          {props.isArray ? "[" : "{"}
          {counted}
          {props.isArray ? "]" : "}"}
        </span>
      </button>
      {open && (
        <ul>
          {children(props.value, most).map(([name, value]) => (
            <Node key={name} name={name} value={value} />
          ))}
          {size > most && (
            <li>
              <button type="button" class="small" onClick={() => setMost((n) => n + CHILDREN_STEP)}>
                Show more: {formatCount(size - most)} left
              </button>
            </li>
          )}
        </ul>
      )}
    </li>
  );
}

function Scalar(props: { value: unknown; kind: string }) {
  const [all, setAll] = useState(false);
  const whole = scalar(props.value);
  const shown = all ? cut(whole, TEXT_STEP) : cut(whole);
  return (
    <>
      <span class={`tree-${props.kind}`}>{visible(shown.text)}</span>
      {shown.more > 0 && (
        <button type="button" class="small" onClick={() => setAll(true)} disabled={all}>
          {all ? `${formatCount(shown.more)} more characters: see Text` : `Show more: ${formatCount(shown.more)} characters`}
        </button>
      )}
    </>
  );
}
