// An editor of the bytes of a key or value: as text, as JSON, or as hexadecimal digits.
import { useState } from "preact/hooks";
import { asApiError, send } from "../../lib/api";
import { formatBytes } from "../../lib/format";
import { Select, TextArea } from "../../parts/field";
import { bytesOfHex, changeOf, hexOf, modeOf, textOf, type Change, type Mode, type Part } from "./letters";

const EDITED_MAX = 1_048_576;

export interface Correction {
  mode: Mode;
  text: string;
  error: string;
  note: string;
  /** Choose how to correct; the bytes are loaded when they are first needed. */
  choose: (mode: Mode) => void;
  edit: (text: string) => void;
  /** The change to send: undefined for none, null if the text is wrong. */
  change: () => Change | undefined | null;
}

/** Return the state of a correction of the bytes that `path` has. */
export function useCorrection(path: string, part: Part | null): Correction {
  const [mode, setMode] = useState<Mode>("same");
  const [text, setText] = useState("");
  const [error, setError] = useState("");
  const [note, setNote] = useState("");
  const choose = async (next: Mode) => {
    setError("");
    setNote("");
    if (next === "same" || next === "null") {
      setMode(next);
      return;
    }
    try {
      // What was edited is kept in another form; else the original bytes are the start.
      const edited = mode === "text" || mode === "json" || mode === "hex";
      const bytes = edited ? bytesIn(mode, text) : await original(path, part);
      const shown = next === "hex" ? hexOf(bytes) : textOf(bytes);
      if (shown === null) {
        setMode("hex");
        setText(hexOf(bytes));
        setNote("These bytes are not a text in UTF-8, so they are shown as digits.");
        return;
      }
      setMode(next);
      setText(shown);
      if (!edited && next !== modeOf(bytes) && modeOf(bytes) === "hex") {
        setNote("The text has control characters: use digits to keep them.");
      }
    } catch (failed) {
      setError(asApiError(failed).message);
    }
  };
  return {
    mode,
    text,
    error,
    note,
    choose: (next) => void choose(next),
    edit: (next) => {
      setText(next);
      setError("");
    },
    change: () => {
      try {
        return changeOf(mode, text);
      } catch (failed) {
        setError(asApiError(failed).message);
        return null;
      }
    },
  };
}

function bytesIn(mode: Mode, text: string): Uint8Array {
  return mode === "hex" ? bytesOfHex(text) : new TextEncoder().encode(text);
}

async function original(path: string, part: Part | null): Promise<Uint8Array> {
  if (part === null) return new Uint8Array();
  if (part.bytes > EDITED_MAX) {
    throw new Error(
      `It has ${formatBytes(part.bytes)}, too much for this editor. Download it, and use duolog dlq replay --set-value-file.`,
    );
  }
  const response = await send("GET", path, { headers: { Accept: "application/octet-stream" } });
  return new Uint8Array(await response.arrayBuffer());
}

export function BytesEditor(props: { title: string; correction: Correction }) {
  const { title, correction } = props;
  const edits = correction.mode !== "same" && correction.mode !== "null";
  return (
    <div class="stack part">
      <Select
        label={`New ${title.toLowerCase()}`}
        value={correction.mode}
        onChange={(mode) => correction.choose(mode as Mode)}
        options={[
          { value: "same", label: "as it is" },
          { value: "text", label: "edit as text" },
          { value: "json", label: "edit as JSON" },
          { value: "hex", label: "edit as hexadecimal digits" },
          { value: "null", label: "null" },
        ]}
      />
      {edits && (
        <TextArea
          label={`${title}, ${correction.mode === "hex" ? "hexadecimal digits" : correction.mode === "json" ? "JSON" : "text"}`}
          rows={correction.mode === "hex" ? 8 : 6}
          value={correction.text}
          onInput={correction.edit}
          error={correction.error}
          hint={correction.note}
        />
      )}
      {!edits && correction.error !== "" && (
        <span class="field-error small" role="alert">
          {correction.error}
        </span>
      )}
      {correction.mode === "null" && title === "Value" && (
        <span class="soft small">A null value is a tombstone: it deletes the row of its key from a table.</span>
      )}
    </div>
  );
}
