// Says that the server cannot be reached, and asks it again until it answers.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { reachable } from "../lib/api";
import { refresh } from "./session";
import { toast } from "./toasts";

/** Increases when the server answers again: screens then read what they show once more. */
export const reconnected = signal(0);

const FIRST_WAIT_MS = 500;
const LAST_WAIT_MS = 5000;

/** The banner; empty while the server answers. */
export function Connection() {
  const away = !reachable.value;
  const [waits, setWaits] = useState(FIRST_WAIT_MS);
  useEffect(() => {
    if (!away) return undefined;
    const timer = setTimeout(() => {
      setWaits(Math.min(waits * 2, LAST_WAIT_MS));
      void refresh().then(() => {
        if (!reachable.peek()) return;
        setWaits(FIRST_WAIT_MS);
        reconnected.value += 1;
        toast("Connected again");
      });
    }, waits);
    return () => clearTimeout(timer);
  }, [away, waits]);
  return (
    <div role="status" aria-live="polite">
      {away && <div class="banner">The server cannot be reached. Trying again…</div>}
    </div>
  );
}
