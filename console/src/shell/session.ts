// Who uses the page: the token of the address, a session of the browser, or a login.
//
//   #token=… ─▶ POST /session ─▶ cookie          a server without users
//   user and password ─▶ POST /session ─▶ cookie a server with users
import { signal } from "@preact/signals";
import { ApiError, asApiError, get, loginNeeded, request } from "../lib/api";
import { reader } from "../lib/reader";

/** `open`: logged in. `token`, `password`: what the server wants. */
export type Session =
  | { state: "asking" }
  | { state: "open"; user: string; users: boolean }
  | { state: "token" | "password" }
  | { state: "away"; error: ApiError };

export const session = signal<Session>({ state: "asking" });
session.subscribe((now) => {
  reader.value = now.state === "open" && now.users ? now.user : "";
});

interface Who {
  user: string;
  login: "none" | "password" | "token" | "session";
  users: boolean;
}

/** Log in by the token in the address if there is one, and find out who the reader is. */
export async function startSession(): Promise<void> {
  const token = tokenOf(location.hash);
  if (token !== null) {
    // Out of the address at once: it would stay in the history and in copied links.
    history.replaceState(null, "", location.pathname + location.search);
    try {
      await logInByToken(token);
      return;
    } catch (error) {
      if (asApiError(error).status === 0) return;
    }
  }
  await refresh();
}

/** Ask the server who the reader is. */
export async function refresh(): Promise<void> {
  try {
    const who = await get<Who>("/session");
    const open = who.login !== "none";
    session.value = open
      ? { state: "open", user: who.user, users: who.users }
      : { state: "token" };
  } catch (error) {
    const found = asApiError(error);
    if (found.status === 401) session.value = { state: "password" };
    // A page that is open stays open while the server is away.
    else if (session.peek().state !== "open") session.value = { state: "away", error: found };
  }
}

/** Log in to a server without users; throws ApiError. */
export async function logInByToken(token: string): Promise<void> {
  await request<null>("POST", "/session", { headers: { Authorization: `Bearer ${token}` } });
  await changed();
}

/** Log in to a server with users; throws ApiError. */
export async function logInByPassword(user: string, password: string): Promise<void> {
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  const basic = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  await request<null>("POST", "/session", { headers: { Authorization: `Basic ${basic}` } });
  await changed();
}

/** End the session. */
export async function logOut(): Promise<void> {
  await request<null>("DELETE", "/session");
  await changed();
}

// The cookie is that of all tabs: each asks again who its reader is.
const tabs = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("duolog.session");

async function changed(): Promise<void> {
  tabs?.postMessage(null);
  await refresh();
}

/** Ask again when a request was refused, and when another tab has logged in or out; call once. */
export function watchSession(): void {
  tabs?.addEventListener("message", () => void refresh());
  let known = loginNeeded.peek();
  loginNeeded.subscribe((count) => {
    if (count === known) return;
    known = count;
    if (session.peek().state === "open") void refresh();
  });
}

/** Return the token in the part of an address after #; null if there is none. */
export function tokenOf(hash: string): string | null {
  return new URLSearchParams(hash.replace(/^#/, "")).get("token");
}
