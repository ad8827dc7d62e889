// The events of the server: what has changed, and whether another build of this page runs there.
//
//   changed: catalog, queries, topics ─▶ `changes` ─▶ screens read their lists again (`useLoad`)
import { signal } from "@preact/signals";
import { openEvents } from "../lib/events";

export type Change = "catalog" | "queries" | "topics";

/** How often each has changed since the page was opened. */
export const changes = signal<Record<Change, number>>({ catalog: 0, queries: 0, topics: 0 });

/** Increases when the server answers again after it could not be reached: everything is read anew. */
export const reconnected = signal(0);

/** True if the server runs another build of the page than this one. */
export const outdated = signal(false);

let close: (() => void) | null = null;

/** Listen from now on, if not yet. */
export function startLive(): void {
  close ??= openEvents("/v1/events", {
    onlyVisible: true,
    onEvent: ({ type, data }) => {
      if (type === "hello") outdated.value = isOther((data as { console?: string }).console ?? "");
      if (type === "changed") note((data as { changed?: string[] }).changed ?? []);
    },
    onOpen: (again) => {
      // Something may have changed while nobody listened.
      if (again) note(["catalog", "queries", "topics"]);
    },
    onError: (_, final) => {
      if (final) close = null;
    },
  });
}

/** Listen no longer, for instance after the end of the session. */
export function stopLive(): void {
  close?.();
  close = null;
}

/** Count a new contact with the server: screens read again. */
export function noteReconnection(): void {
  reconnected.value += 1;
}

function note(names: readonly string[]): void {
  const next = { ...changes.value };
  for (const name of names) if (name in next) next[name as Change] += 1;
  changes.value = next;
}

// The name of the script has the digest of the build.
function isOther(build: string): boolean {
  const own = document.querySelector<HTMLScriptElement>("script[type=module][src]")?.src ?? "";
  return build !== "" && own !== "" && !own.endsWith(`/${build}`);
}
