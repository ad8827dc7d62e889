// Replay all letters of a selection: first a preview, then the replay, each in as many requests as it takes.
import { useRef, useState } from "preact/hooks";
import { asApiError, post, type ApiError } from "../../lib/api";
import { formatCount } from "../../lib/format";
import { Dialog } from "../../parts/dialog";
import { ErrorPanel } from "../../parts/empty";
import { Checkbox, Field } from "../../parts/field";
import { parametersOf, sumOf, type Outcome, type Selection } from "./letters";
import { OutcomeText } from "./outcome";

type Stage = "asking" | "previewing" | "previewed" | "replaying" | "done";

export function ReplayDialog(props: { topic: string; selection: Selection; onClose: () => void }) {
  const { topic, selection } = props;
  const [stage, setStage] = useState<Stage>("asking");
  const [sql, setSql] = useState("");
  const [to, setTo] = useState("");
  const [again, setAgain] = useState(selection.status === "replayed");
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const stopped = useRef(false);
  const change = (set: () => void) => {
    set();
    setStage("asking");
    setOutcome(null);
    setError(null);
  };
  const run = async (dryRun: boolean) => {
    stopped.current = false;
    setStage(dryRun ? "previewing" : "replaying");
    setError(null);
    setOutcome(null);
    const chosen = parametersOf(selection, Date.now());
    const { replayed, ...rest } = chosen;
    let sum: Outcome | null = null;
    let next: string | null = null;
    try {
      do {
        const one: Outcome = await post<Outcome>(`/v1/dead-letters/${encodeURIComponent(topic)}/replay`, {
          ...rest,
          ...(again ? { again: true, ...(replayed === undefined ? {} : { replayed }) } : {}),
          ...(sql.trim() === "" ? {} : { setValue: { sql } }),
          ...(to === "" ? {} : { to }),
          ...(next === null ? {} : { continue: next }),
          dryRun,
        });
        sum = sumOf(sum, one);
        next = one.next;
        setOutcome(sum);
      } while (next !== null && !stopped.current);
      setStage(dryRun ? "previewed" : "done");
    } catch (failed) {
      setError(asApiError(failed));
      setStage(dryRun ? "asking" : "done");
    }
  };
  const busy = stage === "previewing" || stage === "replaying";
  return (
    <Dialog
      wide
      title={`Replay letters of ${topic}`}
      onClose={() => {
        stopped.current = true;
        props.onClose();
      }}
      actions={
        <>
          {busy && <button onClick={() => (stopped.current = true)}>Stop after this request</button>}
          <button
            onClick={() => {
              stopped.current = true;
              props.onClose();
            }}
          >
            {stage === "done" ? "Close" : "Cancel"}
          </button>
          {stage !== "done" && (
            <button class={stage === "previewed" ? "" : "primary"} disabled={busy} onClick={() => void run(true)}>
              Preview
            </button>
          )}
          {(stage === "previewed" || stage === "replaying") && (
            <button class="primary" disabled={busy || (outcome?.letters ?? 0) === 0} onClick={() => void run(false)}>
              Replay {formatCount(outcome?.letters ?? 0)} {outcome?.letters === 1 ? "letter" : "letters"}
            </button>
          )}
        </>
      }
    >
      <p>
        The letters that match the filters are written to the topics that they came from, each once and in order. The
        preview shows what would be written.
      </p>
      <Field
        label="New value, an SQL expression"
        hint="Optional. Columns: VALUE, KEY, VALUE_BYTES, KEY_BYTES, ERROR_MESSAGE, SOURCE_TOPIC and others, such as REPLACE(VALUE, 'EUR ', ''). Letters for which it is null are not replayed."
        mono
        value={sql}
        onInput={(value) => change(() => setSql(value))}
        disabled={busy || stage === "done"}
      />
      <Field
        label="Another topic"
        hint="Optional. Without it, each letter goes to its source topic."
        value={to}
        onInput={(value) => change(() => setTo(value))}
        disabled={busy || stage === "done"}
      />
      <Checkbox
        label="Also letters that were replayed before"
        checked={again}
        onChange={(value) => change(() => setAgain(value))}
        disabled={busy || stage === "done"}
      />
      <div aria-live="polite" class="stack">
        {busy && <span role="status">{stage === "previewing" ? "Reading the letters…" : "Replaying…"}</span>}
        {outcome && <OutcomeText outcome={outcome} />}
        {error && <ErrorPanel error={error} />}
        {error !== null && stage === "done" && (
          <p>What is shown above was written. Replay again to continue: no letter is written twice.</p>
        )}
      </div>
    </Dialog>
  );
}
