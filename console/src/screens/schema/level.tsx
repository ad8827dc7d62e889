// The compatibility level of a subject, or of all subjects, with its change.
import { useState } from "preact/hooks";
import { useLoad } from "../../lib/load";
import { Badge } from "../../parts/badge";
import { Confirm } from "../../parts/dialog";
import { ErrorPanel, Waiting } from "../../parts/empty";
import { ActionButton, Select } from "../../parts/field";
import { toast } from "../../shell/toasts";
import { LEVELS, LEVEL_TEXT, levelOf, setLevel } from "./api";

const INHERIT = "";

export function LevelPanel(props: { title: string; subject?: string; onChanged?: () => void }) {
  const { subject } = props;
  const level = useLoad(`level\n${subject ?? ""}`, (signal) => levelOf(subject, signal));
  const [chosen, setChosen] = useState<string | null>(null);
  const [asking, setAsking] = useState(false);
  const found = level.data;
  const now = found === null ? INHERIT : found.inherited ? INHERIT : (found.level ?? INHERIT);
  const value = chosen ?? now;
  const options = [
    ...(subject === undefined ? [] : [{ value: INHERIT, label: "the same as for all subjects" }]),
    ...LEVELS.map((one) => ({ value: one, label: one })),
  ];
  const save = async () => {
    await setLevel(subject ?? null, value === INHERIT ? null : value);
    toast("Compatibility level changed");
    setChosen(null);
    level.reload();
    props.onChanged?.();
  };
  return (
    <section class="panel stack" aria-label={props.title}>
      <div class="row">
        <h2 class="flat">{props.title}</h2>
        {found !== null && found.level !== null && (
          <Badge tone={found.level === "NONE" ? "warn" : "info"}>
            {found.level}
            {found.inherited ? ", of all subjects" : ""}
          </Badge>
        )}
      </div>
      {level.error && <ErrorPanel error={level.error} onRetry={level.reload} />}
      {found === null && level.error === null && <Waiting />}
      {found !== null && (
        <>
          <p class="soft flat">{LEVEL_TEXT[value === INHERIT ? (found.level ?? "") : value] ?? ""}</p>
          <div class="row bottom">
            <Select label="Level" value={value} onChange={setChosen} options={options} disabled={!found.mayChange} />
            <ActionButton
              onClick={() => setAsking(true)}
              reason={
                !found.mayChange
                  ? "You have no right to change it."
                  : value === now
                    ? "Choose another level first."
                    : undefined
              }
            >
              Change level…
            </ActionButton>
          </div>
        </>
      )}
      {asking && (
        <Confirm
          title="Change the compatibility level"
          action="Change level"
          onConfirm={save}
          onClose={() => setAsking(false)}
        >
          <p>
            {subject === undefined ? "All subjects that have no level of their own" : `Subject ${subject}`} will get{" "}
            {value === INHERIT ? "the level of all subjects" : value}. {LEVEL_TEXT[value] ?? ""} Versions that exist
            are not checked again.
          </p>
        </Confirm>
      )}
    </section>
  );
}
