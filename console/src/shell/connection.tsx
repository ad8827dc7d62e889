// Says that the server cannot be reached, and asks it again until it answers.
import { useEffect, useRef, useState } from "preact/hooks";
import { reachable } from "../lib/api";
import { noteReconnection, outdated } from "./live";
import { refresh } from "./session";
import { toast } from "./toasts";

const FIRST_WAIT_MS = 500;
const LAST_WAIT_MS = 5000;

/** The banners; empty while the server answers and runs this build of the page. */
export function Connection() {
  const away = !reachable.value;
  const [tries, setTries] = useState(0);
  const before = useRef(away);
  useEffect(() => {
    if (before.current && !away) {
      // Any request may have found it: what was answered while it was away is read again now.
      void refresh();
      noteReconnection();
      toast("Connected again");
    }
    before.current = away;
    if (!away) {
      setTries(0);
      return undefined;
    }
    const wait = Math.min(FIRST_WAIT_MS * 2 ** tries, LAST_WAIT_MS);
    const timer = setTimeout(() => void refresh().then(() => setTries(tries + 1)), wait);
    return () => clearTimeout(timer);
  }, [away, tries]);
  return (
    <div role="status" aria-live="polite">
      {away && (
        <div class="banner">
          The server cannot be reached. This page tries again by itself; what it shows may be out of date.
        </div>
      )}
      {!away && outdated.value && (
        <div class="banner">
          The server runs another version now.{" "}
          <button class="small" onClick={() => location.reload()}>
            Load the page again
          </button>
        </div>
      )}
    </div>
  );
}
