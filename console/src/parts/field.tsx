// A labelled input, with its hint and its error.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

interface Common {
  label: string;
  /** Explains what is expected; below the input. */
  hint?: string | undefined;
  /** What is wrong with the value; read out when it appears. */
  error?: string | undefined;
  required?: boolean;
  disabled?: boolean;
  class?: string;
  /** Hide the label from the screen, not from screen readers. */
  labelHidden?: boolean;
}

export interface FieldProps extends Common {
  value: string;
  onInput: (value: string) => void;
  type?: "text" | "password" | "search" | "number" | "datetime-local" | "url";
  placeholder?: string;
  autocomplete?: "off" | "username" | "current-password" | "new-password";
  autofocus?: boolean;
  list?: readonly string[];
  /** The key / moves the focus here. */
  search?: boolean;
  mono?: boolean;
  size?: number;
}

/** A line of text. */
export function Field(props: FieldProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (props.autofocus === true) input.current?.focus();
  }, []);
  return (
    <Labelled {...props} id={id}>
      <input
        id={id}
        ref={input}
        type={(props.type ?? "text") as "text"} // The types of preact want one literal.
        value={props.value}
        placeholder={props.placeholder}
        autocomplete={props.autocomplete ?? "off"}
        spellcheck={false}
        required={props.required}
        disabled={props.disabled}
        size={props.size}
        class={props.mono === true ? "mono" : undefined}
        data-search={props.search === true ? "" : undefined}
        list={props.list === undefined ? undefined : `${id}-list`}
        aria-invalid={props.error ? true : undefined}
        aria-describedby={describedBy(props, id)}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
      {props.list !== undefined && (
        <datalist id={`${id}-list`}>
          {props.list.map((one) => (
            <option value={one} key={one} />
          ))}
        </datalist>
      )}
    </Labelled>
  );
}

/** Several lines of text. */
export function TextArea(
  props: Common & { value: string; onInput: (value: string) => void; rows?: number; placeholder?: string | undefined },
) {
  const id = useId();
  return (
    <Labelled {...props} id={id}>
      <textarea
        id={id}
        rows={props.rows ?? 6}
        placeholder={props.placeholder}
        spellcheck={false}
        required={props.required}
        disabled={props.disabled}
        aria-invalid={props.error ? true : undefined}
        aria-describedby={describedBy(props, id)}
        value={props.value}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
    </Labelled>
  );
}

/** One of several values. */
export function Select(
  props: Common & {
    value: string;
    onChange: (value: string) => void;
    options: readonly (string | { value: string; label: string })[];
  },
) {
  const id = useId();
  return (
    <Labelled {...props} id={id}>
      <select
        id={id}
        value={props.value}
        disabled={props.disabled}
        required={props.required}
        aria-describedby={describedBy(props, id)}
        onChange={(event) => props.onChange(event.currentTarget.value)}
      >
        {props.options.map((one) => {
          const { value, label } = typeof one === "string" ? { value: one, label: one } : one;
          return (
            <option value={value} key={value}>
              {label}
            </option>
          );
        })}
      </select>
    </Labelled>
  );
}

/** Yes or no. */
export function Checkbox(props: {
  label: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={props.checked}
        disabled={props.disabled}
        onChange={(event) => props.onChange(event.currentTarget.checked)}
      />
      {props.label}
    </label>
  );
}

/** A button that says why it cannot be used: it stays reachable by keyboard, so that the reason is read. */
export function ActionButton(props: {
  onClick: () => void;
  /** Why the action is not possible now; undefined or empty if it is. */
  reason?: string | undefined;
  class?: string;
  children: ComponentChildren;
}) {
  const id = useId();
  const off = props.reason !== undefined && props.reason !== "";
  return (
    <>
      <button
        type="button"
        class={props.class}
        aria-disabled={off ? true : undefined}
        aria-describedby={off ? id : undefined}
        title={off ? props.reason : undefined}
        onClick={() => {
          if (!off) props.onClick();
        }}
      >
        {props.children}
      </button>
      {off && (
        <span class="hidden-text" id={id}>
          {props.reason}
        </span>
      )}
    </>
  );
}

function Labelled(props: Common & { id: string; children: ComponentChildren }) {
  return (
    <div class={`field ${props.class ?? ""}`}>
      <label for={props.id} class={props.labelHidden === true ? "hidden-text" : undefined}>
        {props.label}
      </label>
      {props.children}
      {props.hint && (
        <span class="soft small" id={`${props.id}-hint`}>
          {props.hint}
        </span>
      )}
      {props.error && (
        <span class="field-error small" id={`${props.id}-error`} role="alert">
          {props.error}
        </span>
      )}
    </div>
  );
}

function describedBy(props: Common, id: string): string | undefined {
  const found = [props.hint && `${id}-hint`, props.error && `${id}-error`].filter(Boolean).join(" ");
  return found === "" ? undefined : found;
}
