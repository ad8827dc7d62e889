// Short messages about what has happened; read out by screen readers.
import { signal } from "@preact/signals";
import { asApiError } from "../lib/api";

type Kind = "good" | "bad" | "info";

interface Toast {
  id: number;
  kind: Kind;
  text: string;
}

const SHOWN_MS = 6000;
const SHOWN_MAX = 4;
const toasts = signal<readonly Toast[]>([]);
let last = 0;

/** Show a message; errors stay until the reader closes them. */
export function toast(text: string, kind: Kind = "good"): void {
  const id = ++last;
  toasts.value = [...toasts.value, { id, kind, text }].slice(-SHOWN_MAX);
  if (kind !== "bad") setTimeout(() => close(id), SHOWN_MS);
}

/** Show an error of the server: message, detail and hint. */
export function toastError(error: unknown): void {
  const { message, detail, hint } = asApiError(error);
  toast([message, detail, hint].filter((part) => part !== "").join(" "), "bad");
}

function close(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

/** The messages of now. */
export function Toasts() {
  return (
    <div class="toasts" role="log" aria-live="polite" aria-label="Messages">
      {toasts.value.map((one) => (
        <div class={`toast ${one.kind}`} key={one.id}>
          <span class="grow">{one.text}</span>
          <button class="small" onClick={() => close(one.id)} aria-label="Close the message">
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
