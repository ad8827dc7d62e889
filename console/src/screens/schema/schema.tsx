// One subject: its versions, their texts and differences, a new version, its compatibility level.
import { useState } from "preact/hooks";
import { visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge } from "../../parts/badge";
import { Confirm } from "../../parts/dialog";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { ActionButton, Checkbox } from "../../parts/field";
import { Link, navigate, place, queryOf, setQuery, type ScreenProps } from "../../shell/router";
import { toast } from "../../shell/toasts";
import { remove, versionsOf, type Versions } from "./api";
import { CompareView } from "./compare";
import { DraftView } from "./draft";
import { LevelPanel } from "./level";
import { TextView } from "./text";

const VIEWS = { text: "Text", compare: "Compare", draft: "New version", level: "Compatibility" } as const;
type View = keyof typeof VIEWS;

export default function Schema(props: ScreenProps) {
  const subject = props.params["subject"] ?? "";
  const deleted = queryOf("deleted") === "true";
  const found = useLoad(`${subject}\n${deleted}`, (signal) => versionsOf(subject, deleted, signal));
  // A subject that does not exist yet is about to get its first version.
  const missing = found.error?.status === 404;
  const view: View = missing ? "draft" : viewOf(queryOf("view"));
  const versions = found.data?.versions ?? [];
  return (
    <div class="stack">
      <p class="flat small">
        <Link to="/schemas">Schemas</Link>
      </p>
      <div class="row ends">
        <h1>{visible(subject)}</h1>
        {found.data !== null && <Deletion key={subject} found={found.data} onDone={found.reload} />}
      </div>
      {found.error && !missing && <ErrorPanel error={found.error} onRetry={found.reload} />}
      {found.data === null && found.error === null && <Waiting />}
      {missing && (
        <Empty title="This subject has no versions that you can see">
          <p>
            {queryOf("view") === "draft"
              ? "Write its first schema below, check it, and register it."
              : "It does not exist, its versions are deleted, or you have no right to read it."}
          </p>
          {!deleted && (
            <button onClick={() => setQuery({ deleted: "true" }, { replace: false })}>Look for deleted versions</button>
          )}
        </Empty>
      )}
      {found.data !== null && (
        <div class="row ends">
          <nav class="tabs" aria-label="Views of the subject">
            {(Object.keys(VIEWS) as View[]).map((one) => (
              <Link to={`/schemas/${encodeURIComponent(subject)}`} query={kept(one)} current={one === view} key={one}>
                {VIEWS[one]}
              </Link>
            ))}
          </nav>
          <Checkbox
            label="Show deleted versions"
            checked={deleted}
            onChange={(value) => setQuery({ deleted: value ? "true" : "" })}
          />
        </div>
      )}
      {found.data !== null && view === "text" && <TextView subject={subject} versions={versions} />}
      {found.data !== null && view === "compare" && <CompareView subject={subject} versions={versions} />}
      {found.data !== null && view === "level" && (
        <LevelPanel title="Compatibility level" subject={subject} key={subject} />
      )}
      {(found.data !== null || missing) && view === "draft" && (
        <DraftView
          subject={subject}
          latest={versions.filter((one) => !one.deleted).at(-1)?.version ?? null}
          mayRegister={found.data?.may.register ?? true}
          onRegistered={(version) => {
            found.reload();
            navigate(`/schemas/${encodeURIComponent(subject)}`, { view: "text", version: version ?? "" });
          }}
        />
      )}
    </div>
  );
}

function viewOf(name: string): View {
  return name in VIEWS ? (name as View) : "text";
}

function kept(view: View): Record<string, string> {
  const query = place.value.query;
  return { view, version: query.get("version") ?? "", deleted: query.get("deleted") ?? "" };
}

/** Delete one version, or the subject; a permanent deletion follows a soft one. */
function Deletion(props: { found: Versions; onDone: () => void }) {
  const { subject, versions, may } = props.found;
  const [asking, setAsking] = useState<"version" | "subject" | null>(null);
  const alive = versions.filter((one) => !one.deleted);
  const chosen = versions.find((one) => String(one.version) === queryOf("version")) ?? versions.at(-1);
  const ofSubject = alive.length === 0;
  const permanent = asking === "version" ? chosen?.deleted === true : ofSubject;
  const reason = may.delete ? undefined : "You have no right to delete this subject.";
  const run = async () => {
    await remove(subject, asking === "version" ? String(chosen?.version) : undefined, permanent);
    toast(permanent ? "Deleted permanently" : "Deleted. “Show deleted versions” lists it again.");
    if (asking === "version" && versions.length > 1) {
      setQuery({ version: "" });
      props.onDone();
    } else {
      navigate("/schemas");
    }
  };
  return (
    <div class="row">
      {chosen !== undefined && (
        <ActionButton class="danger" onClick={() => setAsking("version")} reason={reason}>
          {chosen.deleted ? `Delete version ${chosen.version} permanently…` : `Delete version ${chosen.version}…`}
        </ActionButton>
      )}
      <ActionButton class="danger" onClick={() => setAsking("subject")} reason={reason}>
        {ofSubject ? "Delete subject permanently…" : "Delete subject…"}
      </ActionButton>
      {asking !== null && (
        <Confirm
          danger
          title={asking === "version" ? `Delete version ${chosen?.version}` : "Delete the subject"}
          action={permanent ? "Delete permanently" : "Delete"}
          onConfirm={run}
          onClose={() => setAsking(null)}
          {...(permanent ? { typed: subject } : {})}
        >
          <p>
            {permanent ? (
              <>
                <Badge tone="bad">permanent</Badge> Records that were written with this schema cannot be read any more
                by consumers that do not know it yet. This cannot be undone.
              </>
            ) : (
              "Producers can no longer use it. Consumers can still read the records that were written with it. Later, it can be deleted permanently."
            )}
          </p>
        </Confirm>
      )}
    </div>
  );
}
