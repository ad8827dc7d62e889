// Server-sent events, with reconnection that waits longer after each failure.
import { reachable, send } from "./api";
import { parseJson } from "./json";
import { readLines } from "./lines";

export interface ServerEvent {
  /** The name after `event:`; `message` if there is none. */
  type: string;
  /** The data, parsed as JSON without loss. */
  data: unknown;
  id: string;
}

export interface EventsOptions {
  query?: Record<string, string | number | boolean | undefined>;
  onEvent: (event: ServerEvent) => void;
  /** Called after each connection: the state may have changed in between. */
  onOpen?: (again: boolean) => void;
  /** Called with each error; with one that is final (4xx), no further try follows. */
  onError?: (error: unknown, final: boolean) => void;
  /** Whether the connection is given up while the page is hidden; false by default. */
  onlyVisible?: boolean;
  /** Whether a stream that the server ends is opened again; true by default. */
  reconnect?: boolean;
}

const FIRST_WAIT_MS = 250;
const LAST_WAIT_MS = 5000;

/** Open a stream of events; call the returned function to close it. */
export function openEvents(path: string, options: EventsOptions): () => void {
  let abort = new AbortController();
  // A page that the browser keeps for its back button would keep the connection, for up to a minute:
  // browsers have six of them for a host.
  let opened = false;
  const hide = () => abort.abort();
  const open = () => {
    abort = new AbortController();
    void run(path, options, abort, opened);
    opened = true;
  };
  const show = (event: PageTransitionEvent) => {
    if (event.persisted && abort.signal.aborted) open();
  };
  // Seven tabs in the background would take the connections from the one in front.
  const turn = () => {
    if (document.hidden) hide();
    else if (abort.signal.aborted) open();
  };
  const onPage = typeof window !== "undefined";
  if (onPage) {
    addEventListener("pagehide", hide);
    addEventListener("pageshow", show);
    if (options.onlyVisible) document.addEventListener("visibilitychange", turn);
  }
  if (onPage && options.onlyVisible && document.hidden) hide();
  else open();
  return () => {
    if (onPage) {
      removeEventListener("pagehide", hide);
      removeEventListener("pageshow", show);
      document.removeEventListener("visibilitychange", turn);
    }
    abort.abort();
  };
}

async function run(path: string, options: EventsOptions, abort: AbortController, opened: boolean): Promise<void> {
  let wait = FIRST_WAIT_MS;
  let again = opened;
  while (!abort.signal.aborted) {
    try {
      const response = await send("GET", path, {
        ...(options.query === undefined ? {} : { query: options.query }),
        headers: { Accept: "text/event-stream" },
        signal: abort.signal,
      });
      options.onOpen?.(again);
      again = true;
      wait = FIRST_WAIT_MS;
      for await (const event of readEvents(response.body!)) options.onEvent(event);
      if (options.reconnect === false) return;
    } catch (error) {
      if (abort.signal.aborted) return;
      const status = (error as { status?: number }).status ?? 0;
      const final = status >= 400 && status < 500 && status !== 408 && status !== 429;
      if (status === 0) reachable.value = false;
      options.onError?.(error, final);
      if (final || options.reconnect === false) return;
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, LAST_WAIT_MS);
  }
}

/** Read events from the bytes of a response. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  let type = "";
  let id = "";
  let data: string[] = [];
  for await (const line of readLines(body)) {
    if (line === "") {
      if (data.length > 0) yield { type: type || "message", data: parseData(data.join("\n")), id };
      type = "";
      data = [];
      continue;
    }
    const colon = line.indexOf(":");
    if (colon === 0) continue; // A comment: the heartbeat.
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") type = value;
    else if (field === "data") data.push(value);
    else if (field === "id") id = value;
  }
}

function parseData(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
