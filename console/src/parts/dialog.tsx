// Dialogs: focus stays within, Escape closes, focus returns to where it was, or close to it.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { asApiError, type ApiError } from "../lib/api";
import { Place } from "../lib/focus";
import { modals, Toasts } from "../shell/toasts";
import { ErrorPanel } from "./empty";

export interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** Buttons at the end. */
  actions?: ComponentChildren;
  wide?: boolean;
  /** Whether the title is only for screen readers. */
  titleHidden?: boolean;
  /** Whether the content is read from its beginning: the title gets the focus, not the first control. */
  reading?: boolean;
  /** The id of a text that is read out when the dialog opens. */
  describedBy?: string | undefined;
}

/** A modal dialog, open as long as it is rendered. */
export function Dialog(props: DialogProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useRef<HTMLHeadingElement>(null);
  const [depth, setDepth] = useState(-1);
  useEffect(() => {
    const before = new Place(document.activeElement);
    const shown = dialog.current;
    modals.value += 1;
    setDepth(modals.value);
    shown?.showModal();
    if (props.reading === true) title.current?.focus();
    return () => {
      modals.value -= 1;
      shown?.close();
      before.restore();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={props.wide === true ? "dialog wide" : "dialog"}
      aria-labelledby={id}
      aria-describedby={props.describedBy}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) props.onClose();
      }}
    >
      <div class="dialog-body stack">
        <h2
          id={id}
          ref={title}
          tabIndex={props.reading === true ? -1 : undefined}
          class={props.titleHidden === true ? "hidden-text" : undefined}
        >
          {props.title}
        </h2>
        {props.children}
        {props.actions !== undefined && <div class="row end">{props.actions}</div>}
      </div>
      <Toasts depth={depth} />
    </dialog>
  );
}

/** Ask before something that cannot be undone; errors of the action are shown in the dialog. */
export function Confirm(props: {
  title: string;
  /** The label of the button that does it: a verb and its object. */
  action: string;
  onConfirm: () => Promise<void>;
  onClose: () => void;
  danger?: boolean;
  /** A name that the reader must type first. */
  typed?: string;
  children?: ComponentChildren;
}) {
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const [given, setGiven] = useState("");
  const id = useId();
  const run = async () => {
    setBusy(true);
    setError(null);
    try {
      await props.onConfirm();
      props.onClose();
    } catch (failed) {
      setError(asApiError(failed));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={props.title}
      onClose={props.onClose}
      describedBy={`${id}-what`}
      actions={
        <>
          <button type="button" onClick={props.onClose}>
            Cancel
          </button>
          <button
            type="button"
            class={props.danger === true ? "danger" : "primary"}
            disabled={busy || (props.typed !== undefined && given !== props.typed)}
            onClick={() => void run()}
          >
            {props.action}
          </button>
        </>
      }
    >
      <div id={`${id}-what`} class="stack">
        {props.children}
      </div>
      {props.typed !== undefined && (
        <div class="field">
          <label for={id}>
            Type <code>{props.typed}</code> to confirm
          </label>
          <input id={id} value={given} autocomplete="off" onInput={(event) => setGiven(event.currentTarget.value)} />
        </div>
      )}
      {error && <ErrorPanel error={error} />}
    </Dialog>
  );
}
