// A running query: reads its rows, shows a part of them, continues after a lost connection.
//
//   answer ─▶ lines ─▶ waiting ─▶ at most `rate` rows/s, the newest ─▶ view (capped, newest first)
//
// A push query shows the newest rows: what exceeds the rate is counted and left out, after a burst
// that is shown whole. While it is paused, some rows wait; then the body is not read, so that the
// server waits, and at last ends the query with a token to continue from. A pull query shows all rows
// in order, up to the cap.
import { asApiError, ApiError, post, send } from "../../lib/api";
import { Lines } from "../../lib/lines";
import type { SessionValues } from "./state";
import { parseLine, PRINTED, printedCells, type ResultColumn, type Row } from "./rows";

export type QueryState = "starting" | "running" | "paused" | "reconnecting" | "done" | "cancelled" | "failed";

export interface Limits {
  /** Rows of the view; the oldest make room. */
  rows: number;
  /** Rows per second that a push query adds. */
  rate: number;
}

export const DEFAULT_LIMITS: Limits = { rows: 10_000, rate: 50 };

const TOKENS = "ksql.query.push.v2.continuation.tokens.enabled";
const TOKEN = "request.ksql.query.push.continuation.token";
const OBJECTS = "application/vnd.ksql.v1+json";
const TICK_MS = 100;
const BURST = 500;
const WAITING_MAX = 1000;
const WAITING_CHARACTERS = 16_000_000;
const VIEW_CHARACTERS = 64_000_000;
const SLICE_MS = 12;
const FIRST_WAIT_MS = 300;
const LAST_WAIT_MS = 5000;
const RATE_OVER_MS = 2000;
const CONTINUES = new Set([40800, 50302, 50303]);

export class RunningQuery {
  state: QueryState = "starting";
  columns: readonly ResultColumn[] = [];
  rows: readonly Row[] = [];
  error: ApiError | null = null;
  message = "";
  queryId = "";
  /** Rows that have come. */
  received = 0;
  /** Rows that were never shown, because too many came at once. */
  skipped = 0;
  /** Rows that have left the view for newer ones. */
  dropped = 0;
  /** True if a pull query has more rows than the cap. */
  cut = false;
  perSecond = 0;
  readonly startedAt = performance.now();
  endedAt: number | null = null;

  private readonly abort = new AbortController();
  private token = "";
  private waiting: string[] = [];
  private waitingCharacters = 0;
  private characters = 0;
  private budget = BURST;
  private lastId = 0;
  private wake: () => void = () => undefined;
  private readonly timer: ReturnType<typeof setInterval>;
  private history: [number, number][] = [];
  private changed = true;

  constructor(
    readonly sql: string,
    readonly kind: "pull" | "push" | "print",
    private readonly session: SessionValues,
    readonly limits: Limits,
    private readonly onChange: () => void,
  ) {
    this.timer = setInterval(() => this.tick(), TICK_MS);
    void this.read();
  }

  get live(): boolean {
    return this.state === "starting" || this.state === "running" || this.state === "paused" || this.state === "reconnecting";
  }

  pause(): void {
    if (this.state !== "running") return;
    this.set("paused");
  }

  resume(): void {
    if (this.state !== "paused") return;
    this.set("running");
    this.wake();
  }

  /** End the query, here and on the server. */
  async cancel(): Promise<void> {
    if (!this.live) return;
    const id = this.queryId;
    this.finish("cancelled");
    this.abort.abort();
    if (id === "" || this.kind !== "push") return;
    // The connection has ended, too: if the server knows that already, there is nothing to close.
    await post("/close-query", { queryId: id }).catch(() => undefined);
  }

  clear(): void {
    this.rows = [];
    this.characters = 0;
    this.note();
  }

  private async read(): Promise<void> {
    let wait = FIRST_WAIT_MS;
    while (this.live) {
      let failed: unknown = null;
      try {
        failed = await this.readOnce(() => (wait = FIRST_WAIT_MS));
      } catch (error) {
        failed = error;
      }
      if (!this.live) return;
      if (failed === null) return this.finish("done");
      const error = asApiError(failed);
      if (!this.mayContinue(error)) return this.fail(error);
      while (this.state === "paused" && this.live) await this.woken();
      if (!this.live) return;
      this.set("reconnecting");
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, LAST_WAIT_MS);
    }
  }

  /** Read one answer to its end; return the error that it reports, or null. */
  private async readOnce(onRow: () => void): Promise<ApiError | null> {
    const properties: Record<string, string> = { ...this.session.properties };
    if (this.kind === "push") properties[TOKENS] = "true";
    if (this.token !== "") properties[TOKEN] = this.token;
    const response = await send("POST", "/query-stream", {
      body: { sql: this.sql, properties, sessionVariables: this.session.sessionVariables },
      headers: { Accept: OBJECTS },
      signal: this.abort.signal,
    });
    if (this.state !== "paused") this.set("running");
    if (this.kind === "print") this.columns = PRINTED;
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    const lines = new Lines();
    let error: ApiError | null = null;
    let begun = performance.now();
    for (;;) {
      const { done, value } = await reader.read();
      const found = done ? [lines.end()] : lines.push(decoder.decode(value, { stream: true }));
      for (const line of found) {
        error = this.take(line, onRow) ?? error;
        if (performance.now() - begun > SLICE_MS) {
          await nextTask();
          begun = performance.now();
        }
        if (!this.live) return null;
      }
      if (done) return error;
      await this.room();
      begun = performance.now();
    }
  }

  private take(line: string, onRow: () => void): ApiError | null {
    if (line === "") return null;
    if (this.isRow(line)) {
      onRow();
      this.received += 1;
      this.changed = true;
      this.waiting.push(line);
      this.waitingCharacters += line.length;
      if (this.state !== "paused") this.bound();
      return null;
    }
    if (this.kind === "print") {
      this.message = line;
      return null;
    }
    const found = parseLine(line);
    if (found.of === "header") {
      this.columns = found.columns;
      this.queryId = found.queryId;
      this.changed = true;
    } else if (found.of === "token") this.token = found.token;
    else if (found.of === "end") this.message = found.message;
    else if (found.of === "error") return new ApiError(found.message, Math.floor(found.code / 100), found.code);
    else if (found.of === "row") {
      this.received += 1;
      this.addInOrder(found.cells, found.tombstone);
    }
    return null;
  }

  /** Whether a line is a row that may be left out, so that it is parsed only when it is shown. */
  private isRow(line: string): boolean {
    if (this.kind === "print") return line.startsWith("rowtime: ");
    return this.kind === "push" && line.includes('{"row":');
  }

  /** Leave out the oldest rows that wait if there are too many. */
  private bound(): void {
    while (this.waiting.length > WAITING_MAX || (this.waitingCharacters > WAITING_CHARACTERS && this.waiting.length > 1)) {
      this.waitingCharacters -= this.waiting.shift()!.length;
      this.skipped += 1;
    }
  }

  private pending: Row[] = [];

  private addInOrder(cells: readonly string[], tombstone: boolean): void {
    if (this.rows.length + this.pending.length >= this.limits.rows || this.characters > VIEW_CHARACTERS) {
      this.cut = true;
      this.finish("done");
      this.abort.abort();
      return;
    }
    const row = this.row(cells, tombstone);
    this.characters += row.size;
    this.pending.push(row);
    this.changed = true;
  }

  private row(cells: readonly string[], tombstone: boolean): Row {
    let size = 0;
    for (const cell of cells) size += cell.length;
    return { id: ++this.lastId, cells, tombstone, size };
  }

  private tick(): void {
    this.budget = Math.min(BURST, this.budget + (this.limits.rate * TICK_MS) / 1000);
    this.flush();
    const now = performance.now();
    this.history.push([now, this.received]);
    while (this.history.length > 1 && now - this.history[0]![0] > RATE_OVER_MS) this.history.shift();
    const [since, before] = this.history[0]!;
    const rate = now > since ? ((this.received - before) * 1000) / (now - since) : 0;
    if (Math.round(rate) !== Math.round(this.perSecond)) this.changed = true;
    this.perSecond = rate;
    if (this.changed) this.note();
  }

  /** Move what waits into the view. */
  private flush(): void {
    if (this.pending.length > 0) {
      this.rows = [...this.rows, ...this.pending];
      this.pending = [];
      this.changed = true;
    }
    const most = Math.floor(this.budget);
    if (this.waiting.length === 0 || this.state === "paused" || most < 1) return;
    const shown = this.waiting.slice(-most);
    this.skipped += this.waiting.length - shown.length;
    this.budget -= shown.length;
    this.waiting = [];
    this.waitingCharacters = 0;
    const fresh: Row[] = [];
    for (const line of shown) {
      if (this.kind === "print") {
        const cells = printedCells(line);
        if (cells !== null) fresh.push(this.row(cells, false));
        continue;
      }
      const found = parseLine(line);
      if (found.of === "row") fresh.push(this.row(found.cells, found.tombstone));
    }
    this.rows = this.capped([...fresh.reverse(), ...this.rows]);
    this.changed = true;
    this.wake();
  }

  /** Return the newest rows within the limits; those that leave the view are counted. */
  private capped(rows: readonly Row[]): readonly Row[] {
    let size = 0;
    let keep = 0;
    while (keep < rows.length && keep < this.limits.rows && (keep === 0 || size <= VIEW_CHARACTERS)) {
      size += rows[keep]!.size;
      keep += 1;
    }
    this.dropped += rows.length - keep;
    return keep === rows.length ? rows : rows.slice(0, keep);
  }

  private async room(): Promise<void> {
    const full = () => this.waiting.length >= WAITING_MAX || this.waitingCharacters > WAITING_CHARACTERS;
    while (this.live && this.state === "paused" && full()) await this.woken();
  }

  private woken(): Promise<void> {
    return new Promise((resolve) => (this.wake = resolve));
  }

  private mayContinue(error: ApiError): boolean {
    if (this.kind !== "push" || this.token === "") return false;
    return error.status <= 0 || error.status === 429 || CONTINUES.has(error.code);
  }

  private fail(error: ApiError): void {
    this.error = error;
    this.finish("failed");
  }

  private finish(state: QueryState): void {
    if (!this.live) return;
    this.budget = Math.max(this.budget, BURST);
    if (this.state === "paused") this.state = "running";
    this.flush();
    this.state = state;
    this.endedAt = performance.now();
    this.perSecond = 0;
    clearInterval(this.timer);
    this.wake();
    this.note();
  }

  private set(state: QueryState): void {
    this.state = state;
    this.note();
  }

  private note(): void {
    this.changed = false;
    this.onChange();
  }
}

function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => resolve();
    channel.port2.postMessage(null);
  });
}
