// The form for rules: by purpose, with the rules that it will add.
import { useState } from "preact/hooks";
import { asApiError, post, type ApiError } from "../../lib/api";
import { visible } from "../../lib/format";
import { Dialog } from "../../parts/dialog";
import { ErrorPanel } from "../../parts/empty";
import { Checkbox, Field, Select } from "../../parts/field";
import {
  EMPTY,
  OPERATIONS,
  problemOf,
  PURPOSES,
  RESOURCES,
  rulesOf,
  sentence,
  spread,
  type Form,
  type Purpose,
} from "./rules";

export function AddRules(props: { principal: string; onClose: () => void; onDone: (count: number, principal: string) => void }) {
  const [form, setForm] = useState<Form>({ ...EMPTY, principal: props.principal || EMPTY.principal });
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const set = (change: Partial<Form>) => setForm((now) => ({ ...now, ...change }));
  const requests = rulesOf(form);
  const rules = requests.flatMap(spread);
  const problem = problemOf(form);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      for (const request of requests) await post<unknown>("/v1/acls", request);
      props.onClose();
      props.onDone(rules.length, form.principal.trim());
    } catch (failed) {
      setError(asApiError(failed));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Add rules" onClose={props.onClose} wide>
      <form class="stack" onSubmit={submit}>
        <div class="row bottom">
          <Select
            label="Rules for"
            value={form.purpose}
            onChange={(value) => set({ purpose: value as Purpose })}
            options={Object.entries(PURPOSES).map(([value, label]) => ({ value, label }))}
          />
          <Field
            label="Principal"
            value={form.principal}
            onInput={(principal) => set({ principal })}
            hint="User:NAME or Role:NAME."
            required
          />
          <Field label="Host" value={form.host} onInput={(host) => set({ host })} hint="An IP address, or * for any." size={14} />
        </div>
        <div class="row bottom">
          <Names form={form} set={set} />
          {!(form.purpose === "one" && form.resource === "cluster") && (
            <Checkbox label="The names are prefixes" checked={form.prefix} onChange={(prefix) => set({ prefix })} />
          )}
        </div>
        <section class="stack" aria-label="Rules to add" aria-live="polite">
          <h3>Rules to add</h3>
          {problem !== "" ? (
            <p class="flat soft">{problem}</p>
          ) : (
            <ul class="reasons">
              {rules.map((one) => (
                <li key={sentence(one)}>{visible(sentence(one))}</li>
              ))}
            </ul>
          )}
        </section>
        {error && <ErrorPanel error={error} />}
        <div class="row end">
          <button type="button" onClick={props.onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={busy || problem !== ""}>
            Add {rules.length === 1 ? "1 rule" : `${rules.length} rules`}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Names(props: { form: Form; set: (change: Partial<Form>) => void }) {
  const { form, set } = props;
  switch (form.purpose) {
    case "producer":
      return (
        <>
          <Field label="Topic" value={form.topic} onInput={(topic) => set({ topic })} required />
          <Field
            label="Transactional id"
            value={form.transactionalId}
            onInput={(transactionalId) => set({ transactionalId })}
            hint="Only for a producer with transactions."
          />
        </>
      );
    case "consumer":
      return (
        <>
          <Field label="Topic" value={form.topic} onInput={(topic) => set({ topic })} required />
          <Field label="Group" value={form.group} onInput={(group) => set({ group })} hint="Leave it empty for a consumer without a group." />
        </>
      );
    case "sql":
      return (
        <>
          <Field
            label="Stream or table"
            value={form.source}
            onInput={(source) => set({ source })}
            hint="SERVICE.NAME, or a NAME of the service default_."
          />
          <Field
            label="Topic"
            value={form.topic}
            onInput={(topic) => set({ topic })}
            hint="Only for users who declare streams over it."
          />
          <Checkbox label="May create" checked={form.mayCreate} onChange={(mayCreate) => set({ mayCreate })} />
        </>
      );
    case "one":
      return (
        <>
          <Select
            label="Permission"
            value={form.permission}
            onChange={(permission) => set({ permission })}
            options={["allow", "deny"]}
          />
          <Select
            label="Resource"
            value={form.resource}
            onChange={(resource) => set({ resource, operation: OPERATIONS[resource]?.[0] ?? "ALL" })}
            options={RESOURCES}
          />
          {form.resource !== "cluster" && (
            <Field label="Name" value={form.name} onInput={(name) => set({ name })} hint="A name, or * for all." required />
          )}
          <Select
            label="Operation"
            value={form.operation}
            onChange={(operation) => set({ operation })}
            options={OPERATIONS[form.resource] ?? []}
          />
        </>
      );
  }
}
