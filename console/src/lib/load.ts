// Reading what a screen shows: now, again at an interval, after a reconnection, and on demand.
import { useEffect, useRef, useState } from "preact/hooks";
import { asApiError, type ApiError } from "./api";
import { changes, reconnected, type Change } from "../shell/live";

export interface Loaded<T> {
  /** The last answer; null before the first. Kept while the next one is awaited. */
  data: T | null;
  /** Why the last try failed; null if it did not. */
  error: ApiError | null;
  loading: boolean;
  /** Read now. */
  reload: () => void;
}

/**
 * Return what `read` answers. It is read again when `key` changes, and every `everyMs` milliseconds
 * while the page is visible, and when the server says that one of `on` has changed. Answers that
 * come late, after another key, are dropped.
 */
export function useLoad<T>(
  key: string,
  read: (signal: AbortSignal) => Promise<T>,
  everyMs?: number,
  on: readonly Change[] = [],
): Loaded<T> {
  const [state, setState] = useState<{ key: string; data: T | null; error: ApiError | null; loading: boolean }>({
    key,
    data: null,
    error: null,
    loading: true,
  });
  const [wanted, setWanted] = useState(0);
  const latest = useRef(read);
  latest.current = read;
  const again = reconnected.value + on.reduce((sum, name) => sum + changes.value[name], 0);
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const run = async () => {
      if (document.visibilityState === "visible") {
        try {
          const data = await latest.current(abort.signal);
          if (!abort.signal.aborted) setState({ key, data, error: null, loading: false });
        } catch (failed) {
          if (abort.signal.aborted) return;
          setState((known) => ({
            key,
            data: known.key === key ? known.data : null,
            error: asApiError(failed),
            loading: false,
          }));
        }
      }
      if (everyMs !== undefined && !abort.signal.aborted) timer = setTimeout(() => void run(), everyMs);
    };
    setState((known) => ({ ...known, data: known.key === key ? known.data : null, key, loading: true }));
    void run();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [key, everyMs, wanted, again]);
  const current = state.key === key;
  return {
    data: current ? state.data : null,
    error: current ? state.error : null,
    loading: !current || state.loading,
    reload: () => setWanted((n) => n + 1),
  };
}
