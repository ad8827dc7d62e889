// What a screen shows when there is nothing yet: the next step, a wait, or an error.
import type { ComponentChildren } from "preact";
import type { ApiError } from "../lib/api";
import { visible } from "../lib/format";
import { reader } from "../lib/reader";

/** Nothing is there: say what it would be, and what to do for it. */
export function Empty(props: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{props.title}</h2>
      {props.children}
      <Rights />
    </div>
  );
}

/** With users, a list may be empty because the reader has few rights. */
function Rights() {
  if (reader.value === "") return null;
  return <p class="soft small">You are logged in as {visible(reader.value)}. What your rights do not include is not shown.</p>;
}

/** An error of the server: message, detail, hint. */
export function ErrorPanel(props: { error: ApiError; onRetry?: (() => void) | undefined }) {
  const { message, detail, hint } = props.error;
  return (
    <div class="error-panel" role="alert">
      <strong>{message}</strong>
      {detail && <div>{detail}</div>}
      {hint && <div>{hint}</div>}
      {props.onRetry && (
        <button class="small" onClick={props.onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** A wait; its height is reserved by the caller. */
export function Waiting(props: { text?: string | undefined }) {
  return (
    <p class="waiting soft" role="status">
      {props.text ?? "Loading…"}
    </p>
  );
}
