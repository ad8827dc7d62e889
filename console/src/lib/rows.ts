// Rows that the server sends line by line: with pause, a rate to the screen, and a cap.
//
//   response ─▶ lines ─▶ waiting (bounded) ─▶ at most RATE rows/s ─▶ onRows
//
// While rows are paused, or more wait than the bound, the body is not read: the server then waits,
// too (back-pressure of TCP). With `sample`, it is read further, and rows that are not shown are
// counted.
import { asApiError, send, type ApiError, type Options } from "./api";
import { parseJson } from "./json";
import { readLines } from "./lines";

export interface RowsOptions extends Options {
  method?: "GET" | "POST";
  /** Rows per second for the screen; 50 by default, Infinity for all at once. */
  rate?: number;
  /** True: drop and count what exceeds the rate. False, the default: let the server wait. */
  sample?: boolean;
  /** Called with parsed lines, at most ten times per second. */
  onRows: (rows: unknown[]) => void;
  /** Called once at the end, with the error if there was one. */
  onEnd: (error: ApiError | null) => void;
}

export interface Counts {
  received: number;
  shown: number;
  dropped: number;
}

export interface RowStream {
  pause(): void;
  resume(): void;
  close(): void;
  readonly paused: boolean;
  readonly counts: Counts;
}

const TICK_MS = 100;
const WAITING_MAX = 1000;

/** Send a request and pass the lines of its answer on. */
export function openRows(path: string, options: RowsOptions): RowStream {
  const abort = new AbortController();
  const counts: Counts = { received: 0, shown: 0, dropped: 0 };
  const perTick = Math.max(1, (options.rate ?? 50) * (TICK_MS / 1000));
  let waiting: unknown[] = [];
  let paused = false;
  let wake: () => void = () => undefined;
  let ended: { error: ApiError | null } | null = null;

  const tick = setInterval(() => {
    if (!paused && waiting.length > 0) {
      const rows = waiting.splice(0, perTick);
      counts.shown += rows.length;
      options.onRows(rows);
      wake();
    }
    if (ended !== null && (waiting.length === 0 || ended.error !== null)) {
      clearInterval(tick);
      options.onEnd(ended.error);
    }
  }, TICK_MS);

  const room = async () => {
    while (!abort.signal.aborted && (paused || waiting.length >= WAITING_MAX)) {
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };

  const read = async () => {
    const { method, rate: _rate, sample, onRows: _rows, onEnd: _end, ...request } = options;
    const response = await send(method ?? "POST", path, { ...request, signal: abort.signal });
    for await (const line of readLines(response.body!)) {
      if (line.trim() === "") continue;
      counts.received += 1;
      if (sample === true && !paused && waiting.length >= perTick) {
        counts.dropped += 1;
        continue;
      }
      waiting.push(parseJson(line));
      await room();
    }
  };

  read().then(
    () => (ended = { error: null }),
    (error: unknown) => (ended = { error: abort.signal.aborted ? null : asApiError(error) }),
  );
  return {
    pause: () => void (paused = true),
    resume: () => {
      paused = false;
      wake();
    },
    close: () => {
      waiting = [];
      abort.abort();
      wake();
    },
    get paused() {
      return paused;
    },
    counts,
  };
}
