// Short messages about what has happened; read out by screen readers.
import { signal } from "@preact/signals";
import { asApiError } from "../lib/api";

type Kind = "good" | "bad" | "info";

interface Toast {
  id: number;
  kind: Kind;
  text: string;
}

/** How many modal dialogs are open: what is below the last one is inert, and not read out. */
export const modals = signal(0);

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

/** The messages of now, if `depth` dialogs are open: each dialog has its own place for them, and so has the page. */
export function Toasts(props: { depth?: number }) {
  const shown = modals.value === (props.depth ?? 0) ? toasts.value : [];
  return (
    <div class="toasts" role="log" aria-live="polite" aria-label="Messages">
      {shown.map((one) => (
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
