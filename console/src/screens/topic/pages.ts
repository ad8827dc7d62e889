// A page of records. A search over a large topic takes many requests, each of which has limits: they
// follow each other until the page is full, the topic has ended, or the reader stops them.
import { useEffect, useRef, useState } from "preact/hooks";
import { asApiError, type ApiError } from "../../lib/api";
import { reconnected } from "../../shell/live";
import type { Page } from "./model";

export interface Pages {
  /** What was read so far; null before the first answer. */
  page: Page | null;
  error: ApiError | null;
  running: boolean;
  /** End the search; what was found stays, and the next page continues there. */
  stop: () => void;
  reload: () => void;
}

const LIMITS = new Set(["records", "bytes", "time"]);

/** Return what two requests have read, the second of which has continued the first. */
export function joined(before: Page | null, page: Page): Page {
  if (before === null) return page;
  return {
    ...page,
    records: [...before.records, ...page.records],
    read: before.read + page.read,
    matched: before.matched + page.matched,
    bytesRead: before.bytesRead + page.bytesRead,
  };
}

/** Return whether another request may fill a page: the last one has ended at one of its limits. */
export function goesOn(page: Page, limit: number): boolean {
  return !page.end && page.next !== null && LIMITS.has(page.stopped ?? "") && page.records.length < limit;
}

/**
 * Read a page.
 *
 * `read` sends one request: from a cursor on, or from the beginning of the page; with at most so
 * many records.
 */
export function usePages(
  key: string,
  limit: number,
  selects: boolean,
  read: (cursor: string | null, limit: number, signal: AbortSignal) => Promise<Page>,
): Pages {
  const [state, setState] = useState<{ key: string; page: Page | null; error: ApiError | null; running: boolean }>({
    key,
    page: null,
    error: null,
    running: true,
  });
  const [wanted, setWanted] = useState(0);
  const latest = useRef(read);
  latest.current = read;
  const abort = useRef<AbortController | null>(null);
  const again = reconnected.value;
  useEffect(() => {
    const own = new AbortController();
    abort.current = own;
    const run = async () => {
      let sum: Page | null = null;
      try {
        do {
          sum = joined(sum, await latest.current(sum?.next ?? null, limit - (sum?.records.length ?? 0), own.signal));
          if (own.signal.aborted) return;
          setState({ key, page: sum, error: null, running: selects && goesOn(sum, limit) });
        } while (selects && goesOn(sum, limit));
      } catch (failed) {
        if (own.signal.aborted) return;
        setState((known) => ({ ...known, key, page: sum ?? (known.key === key ? known.page : null), error: asApiError(failed), running: false }));
      }
    };
    setState((known) => ({ key, page: known.key === key ? known.page : null, error: null, running: true }));
    void run();
    return () => own.abort();
  }, [key, limit, selects, wanted, again]);
  const current = state.key === key;
  return {
    page: current ? state.page : null,
    error: current ? state.error : null,
    running: !current || state.running,
    stop: () => {
      abort.current?.abort();
      setState((known) => ({ ...known, running: false }));
    },
    reload: () => setWanted((count) => count + 1),
  };
}
