// The input of a key or value: a format, then a form of its schema, or a text.
import { useId } from "preact/hooks";
import { Checkbox, Field, Select, TextArea } from "../../parts/field";
import { changed, empty, hintOf, isJson, isStruct, jsonOf, type FieldType, type Form, type NamedField, type Typed } from "./form";

export interface PartState {
  format: string;
  text: string;
  typed: Typed;
  byForm: boolean;
}

/** Return the state of an input at first: by the schema if there is one. */
export function startOfPart(form: Form | null, otherwise: string): PartState {
  if (form === null) return { format: otherwise, text: "", typed: "", byForm: false };
  const byForm = form.fields !== null;
  return { format: form.format, text: form.example, typed: form.fields === null ? "" : empty(form.fields), byForm };
}

/** Return the part as the server wants it. */
export function partOf(form: Form | null, state: PartState): { format: string; text: string } | null {
  if (state.format === "NULL") return null;
  const fields = form !== null && state.format === form.format && state.byForm ? form.fields : null;
  if (fields === null) return { format: state.format, text: state.text };
  // The server writes the quotes of a schema that is a single text.
  const text = fields.type === "string" && typeof state.typed === "string" ? state.typed : jsonOf(fields, state.typed).json;
  return { format: state.format, text };
}

const NAMES: Record<string, string> = { NULL: "null", JSON_SR: "JSON Schema", STRING: "STRING (text)" };
const EXAMPLES: Record<string, string> = {
  JSON: '{"name": "alice", "amount": 3}',
  STRING: "alice",
  INT: "42",
  BIGINT: "42",
  DOUBLE: "2.5",
  BASE64: "YWxpY2U=",
  HEX: "61 6c 69 63 65",
};
const BY_SCHEMA = ["AVRO", "PROTOBUF", "JSON_SR"];

export function PartInput(props: {
  title: string;
  form: Form | null;
  state: PartState;
  onState: (state: PartState) => void;
  formats: readonly string[];
}) {
  const { title, form, state, onState } = props;
  const id = useId();
  // Formats with schemas need one.
  const formats = props.formats.filter((one) => !BY_SCHEMA.includes(one) || one === form?.format);
  const bySchema = form !== null && state.format === form.format;
  const typed = bySchema && state.byForm && form.fields !== null;
  return (
    <fieldset class="panel stack">
      <legend>{title}</legend>
      <div class="row bottom">
        <Select
          label={`Format of the ${title.toLowerCase()}`}
          value={state.format}
          onChange={(format) => onState({ ...state, format })}
          options={formats.map((one) => ({ value: one, label: one === "NULL" && title === "Value" ? "null (tombstone)" : (NAMES[one] ?? one) }))}
        />
        {bySchema && (
          <span class="soft small" id={id}>
            Subject {form.subject}, version {form.version}
          </span>
        )}
        {bySchema && form.fields !== null && (
          <button
            type="button"
            class="small"
            aria-pressed={!state.byForm}
            onClick={() => {
              const text = state.byForm ? pretty(jsonOf(form.fields!, state.typed).json) : state.text;
              onState({ ...state, byForm: !state.byForm, text });
            }}
          >
            Write {title.toLowerCase()} as JSON
          </button>
        )}
      </div>
      {state.format === "NULL" ? (
        <p class="soft">{title === "Value" ? "A tombstone: in a compacted topic, it deletes the key." : "A record without a key goes to any partition."}</p>
      ) : typed ? (
        <Fields type={form.fields!} typed={state.typed} path={[]} label={title} onTyped={(path, value) => onState({ ...state, typed: changed(state.typed, path, value) })} />
      ) : (
        <TextArea label={title} labelHidden value={state.text} rows={title === "Key" ? 2 : 8}
          placeholder={EXAMPLES[state.format]} onInput={(text) => onState({ ...state, text })} />
      )}
    </fieldset>
  );
}

function Fields(props: { type: FieldType; typed: Typed; path: string[]; label: string; onTyped: (path: string[], value: Typed) => void }) {
  const { type, typed, path, label, onTyped } = props;
  if (isStruct(type)) {
    const inner = type.fields.map((one: NamedField) => (
      <Fields
        key={one.name}
        type={one}
        label={one.name}
        path={[...path, one.name]}
        typed={typeof typed === "object" && typed !== null ? (typed[one.name] ?? null) : null}
        onTyped={onTyped}
      />
    ));
    if (path.length === 0) return <div class="form-fields">{inner}</div>;
    return (
      <fieldset class="stack nested">
        <legend>
          {label} <NullBox label={label} typed={typed} onNull={(on) => onTyped(path, on ? null : empty(type))} />
        </legend>
        {typed !== null && <div class="form-fields">{inner}</div>}
      </fieldset>
    );
  }
  const text = typeof typed === "string" ? typed : "";
  const problem = typed === null ? undefined : jsonOf(type, typed).problems[0]?.text;
  const error = text === "" || problem === undefined ? {} : { error: problem };
  return (
    <div class="row bottom">
      {type.type === "boolean" ? (
        <Select class="grow" label={label} value={text || "false"} disabled={typed === null} options={["false", "true"]} onChange={(one) => onTyped(path, one)} />
      ) : isJson(type) ? (
        <TextArea class="grow" label={label} rows={2} value={text} hint={hintOf(type)} disabled={typed === null} onInput={(one) => onTyped(path, one)} {...error} />
      ) : (
        <Field class="grow" label={label} value={text} hint={hintOf(type)} disabled={typed === null} onInput={(one) => onTyped(path, one)} {...error} />
      )}
      <NullBox label={label} typed={typed} onNull={(on) => onTyped(path, on ? null : empty(type))} />
    </div>
  );
}

function NullBox(props: { label: string; typed: Typed; onNull: (on: boolean) => void }) {
  return <Checkbox label={`${props.label} is null`} checked={props.typed === null} onChange={props.onNull} />;
}

function pretty(json: string): string {
  // The digits of numbers stay: only white space between members is added.
  return json.replace(/^\{(.*)\}$/s, "{\n  $1\n}");
}
