// The statement of a query, and the settings that it keeps.
import { visible } from "../../lib/format";
import { copyText } from "../../parts/table";
import { Link } from "../../shell/router";
import type { QueryDetail } from "../queries/figures";

const DEFAULTS: Record<string, string> = { "duolog.query.jvm.group": "default" };

export function Statement({ query }: { query: QueryDetail }) {
  const settings = Object.entries(query.settings).map(([name, given]) => {
    const value = Array.isArray(given) ? given.join(", ") : given;
    return { name, value, isDefault: value === (DEFAULTS[name] ?? "") };
  });
  return (
    <div class="stack">
      <div class="row">
        <button onClick={() => void copyText(query.statement)}>Copy the statement</button>
        <Link to="/sql" query={{ sql: query.statement }} class="button">
          Open in the SQL editor
        </Link>
        <Link to="/sql" query={{ sql: `EXPLAIN ${query.id};` }} class="button">
          Explain it
        </Link>
      </div>
      <pre class="sql-text" tabIndex={0} aria-label="Statement">
        {visible(query.statement)}
      </pre>
      <h2>Settings</h2>
      <dl class="facts panel">
        {settings.map(({ name, value, isDefault }) => (
          <SettingRow key={name} name={name} value={value} isDefault={isDefault} />
        ))}
      </dl>
    </div>
  );
}

function SettingRow(props: { name: string; value: string; isDefault: boolean }) {
  return (
    <>
      <dt class="mono">{props.name}</dt>
      <dd class={props.isDefault ? "soft" : undefined}>
        {props.value === "" ? "none" : props.value}
        {props.isDefault ? " (default)" : ""}
      </dd>
    </>
  );
}
