// A new version: written, checked against every version, its impact shown, then registered.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, asApiError } from "../../lib/api";
import { Badge } from "../../parts/badge";
import { ErrorPanel, Waiting } from "../../parts/empty";
import { ActionButton, Select, TextArea } from "../../parts/field";
import { toast } from "../../shell/toasts";
import {
  check,
  impactOf,
  pretty,
  referencesOf,
  register,
  TYPES,
  versionOf,
  type Checked,
  type Draft,
  type Impact,
} from "./api";
import { Code } from "./code";
import { CheckResult, ImpactResult } from "./results";

interface Props {
  subject: string;
  /** The newest version, whose text the draft starts with. */
  latest: number | null;
  mayRegister: boolean;
  onRegistered: (version: number | null) => void;
}

const FIRST = `{
  "type": "record",
  "name": "Value",
  "fields": [
    {"name": "id", "type": "long"}
  ]
}`;

export function DraftView(props: Props) {
  const { subject, latest } = props;
  const [text, setText] = useState<string | null>(latest === null ? FIRST : null);
  const [type, setType] = useState<string>("AVRO");
  const [references, setReferences] = useState("");
  const [error, setError] = useState<ApiError | null>(null);
  useEffect(() => {
    if (latest === null) return;
    versionOf(subject, String(latest)).then(
      (found) => {
        setType(found.schemaType);
        setReferences(found.references.length === 0 ? "" : referenceText(found.references));
        setText(pretty(found.schema, found.schemaType));
      },
      (failed: unknown) => {
        // Who may register need not be allowed to read.
        setError(asApiError(failed));
        setText("");
      },
    );
  }, [subject, latest]);
  return (
    <div class="stack">
      <p class="flat">
        {latest === null
          ? "Write the first schema of this subject. Check it before you register it: a version cannot be changed later."
          : `The draft starts as version ${latest}. Change it, check it, and register it as the next version.`}
      </p>
      {error && <ErrorPanel error={error} />}
      {text === null ? (
        <Waiting />
      ) : (
        <Form {...props} text={text} type={type} references={references} onText={setText} onType={setType}
          onReferences={setReferences} />
      )}
    </div>
  );
}

interface FormProps extends Props {
  text: string;
  type: string;
  references: string;
  onText: (text: string) => void;
  onType: (type: string) => void;
  onReferences: (text: string) => void;
}

function Form(props: FormProps) {
  const { subject, text, type, references } = props;
  const [busy, setBusy] = useState("");
  const [error, setError] = useState<ApiError | null>(null);
  const [checked, setChecked] = useState<{ draft: string; result: Checked } | null>(null);
  const [impact, setImpact] = useState<{ draft: string; result: Impact } | null>(null);
  const draft = JSON.stringify([subject, text, type, references]);
  const [badReferences, draftOf] = readDraft(subject, text, type, references);
  const valid = checked?.draft === draft ? checked.result : null;
  const run = async (name: string, call: (draft: Draft) => Promise<void>) => {
    if (draftOf === null) return;
    setBusy(name);
    setError(null);
    try {
      await call(draftOf);
    } catch (failed) {
      setError(asApiError(failed));
    }
    setBusy("");
  };
  const wait = busy === "" ? undefined : `Waiting for “${busy}”.`;
  const incomplete = draftOf === null ? "The references cannot be read." : undefined;
  return (
    <>
      <div class="row bottom">
        <Select label="Language" value={type} onChange={props.onType} options={TYPES} />
      </div>
      <Code
        key={type}
        label="Draft of the schema"
        type={type}
        value={text}
        onChange={props.onText}
        height="min(40vh, 320px)"
      />
      <details open={references !== ""}>
        <summary>References to other schemas</summary>
        <TextArea
          label="References, as JSON"
          hint="The names by which the schema refers to versions of other subjects."
          rows={4}
          value={references}
          onInput={props.onReferences}
          error={badReferences || undefined}
        />
      </details>
      <div class="row">
        <ActionButton
          onClick={() => void run("Check", async (one) => setChecked({ draft, result: await check(one) }))}
          reason={wait ?? incomplete}
        >
          Check
        </ActionButton>
        <ActionButton
          onClick={() => void run("Show the impact", async (one) => setImpact({ draft, result: await impactOf(one) }))}
          reason={wait ?? incomplete}
        >
          Show the impact
        </ActionButton>
        <ActionButton
          class="primary"
          onClick={() =>
            void run("Register", async (one) => {
              const { id } = await register(one);
              toast(`Registered with id ${id}`);
              props.onRegistered(null);
            })
          }
          reason={
            !props.mayRegister
              ? "You have no right to register versions of this subject."
              : (wait ?? incomplete ?? whyNotYet(valid))
          }
        >
          Register
        </ActionButton>
        {busy !== "" && <span role="status">Waiting for the registry…</span>}
      </div>
      {error && <ErrorPanel error={error} />}
      <div class="stack" aria-live="polite">
        {checked !== null && (
          <Outdated shown={checked.draft !== draft}>
            <CheckResult result={checked.result} />
          </Outdated>
        )}
        {impact !== null && (
          <Outdated shown={impact.draft !== draft}>
            <ImpactResult result={impact.result} />
          </Outdated>
        )}
      </div>
    </>
  );
}

/** Marks a result of an earlier text. */
function Outdated(props: { shown: boolean; children: ComponentChildren }) {
  return (
    <div class="stack">
      {props.shown && (
        <p class="flat">
          <Badge tone="warn">outdated</Badge> The draft has changed since.
        </p>
      )}
      {props.children}
    </div>
  );
}

function readDraft(subject: string, schema: string, type: string, references: string): [string, Draft | null] {
  try {
    return ["", { subject, schema, schemaType: type, references: referencesOf(references) }];
  } catch (failed) {
    return [(failed as Error).message, null];
  }
}

function whyNotYet(checked: Checked | null): string | undefined {
  if (checked === null) return "Check this draft first.";
  if (!checked.compatible) return "The draft is not compatible with earlier versions.";
  if (checked.known !== null) return `This is version ${checked.known} already.`;
  return undefined;
}

function referenceText(references: Draft["references"]): string {
  return JSON.stringify(references.map(({ name, subject, version }) => ({ name, subject, version })), null, 2);
}
