// One dead letter: why it failed, its bytes, and a correction of them.
import { useEffect, useRef, useState } from "preact/hooks";
import { asApiError, post, url, type ApiError } from "../../lib/api";
import { formatBytes, formatTime, visible } from "../../lib/format";
import { Badge } from "../../parts/badge";
import { ErrorPanel } from "../../parts/empty";
import { ActionButton, Checkbox } from "../../parts/field";
import { Link, pathOf } from "../../shell/router";
import { BytesEditor, useCorrection } from "./correct";
import { placeOf, type Letter, type Outcome, type Part } from "./letters";
import { OutcomeText } from "./outcome";

export function LetterPanel(props: {
  topic: string;
  letter: Letter;
  /** Why letters cannot be replayed; undefined if they can. */
  reason: string | undefined;
  onReplayed: () => void;
  onClose: () => void;
}) {
  const { topic, letter } = props;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section
      class="panel stack letter"
      aria-label={`Letter ${placeOf(letter)}`}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented) return;
        event.preventDefault();
        props.onClose();
      }}
    >
      <div class="row ends">
        <h2 tabIndex={-1} ref={heading}>
          Letter {placeOf(letter)} {letter.replayed && <Badge tone="good">replayed</Badge>}
        </h2>
        <button type="button" class="small" onClick={props.onClose}>
          Close<span class="hidden-text"> the letter</span>
        </button>
      </div>
      <div class="error-panel">
        <strong>{visible(letter.message === "" ? letter.reason : letter.message)}</strong>
        <div class="small">{visible(letter.errorClass)}</div>
      </div>
      <Facts letter={letter} />
      <div class="parts">
        <Bytes title="Key" path={pathTo(topic, letter, "key")} part={letter.key} />
        <Bytes title="Value" path={pathTo(topic, letter, "value")} part={letter.value} />
      </div>
      <Correction {...props} />
      {letter.headers.length > 0 && (
        <details>
          <summary>
            {letter.headers.length} {letter.headers.length === 1 ? "header" : "headers"} of the record
          </summary>
          <dl class="facts">
            {letter.headers.map(([name, value], index) => (
              <Header key={index} name={name} value={value} />
            ))}
          </dl>
        </details>
      )}
      {letter.stacktrace !== "" && (
        <details>
          <summary>Stack trace</summary>
          <pre class="bytes" tabIndex={0} aria-label="Stack trace">
            {visible(letter.stacktrace)}
          </pre>
        </details>
      )}
    </section>
  );
}

function pathTo(topic: string, letter: Letter, part: "key" | "value"): string {
  return `/v1/dead-letters/${encodeURIComponent(topic)}/${letter.partition}/${letter.offset}/${part}`;
}

function Facts({ letter }: { letter: Letter }) {
  const { source } = letter;
  return (
    <dl class="facts">
      <dt>From</dt>
      <dd>
        {source.topic === null ? (
          "an unknown topic"
        ) : (
          <Link
            to={pathOf("/topics/:topic", { topic: source.topic })}
            query={{ partition: source.partition, from: source.offset }}
          >
            {source.topic}
          </Link>
        )}
        {source.partition !== null && `, partition ${source.partition}`}
        {source.offset !== null && `, offset ${source.offset}`}
        {`, ${formatTime(source.timestamp)}`}
      </dd>
      <dt>Failed in</dt>
      <dd>
        {letter.query === "" ? (
          `a program that its ${letter.writer === "connect" ? "headers of Kafka Connect" : "headers"} do not name`
        ) : letter.writer === "duolog" ? (
          <Link to={pathOf("/queries/:query", { query: letter.query })}>{letter.query}</Link>
        ) : (
          visible(letter.query)
        )}
        {`, at ${formatTime(letter.timestamp)}`}
      </dd>
      {letter.replays > 0 && (
        <>
          <dt>Attempts</dt>
          <dd>It was replayed {letter.replays === 1 ? "once" : `${letter.replays} times`}, and failed again.</dd>
        </>
      )}
      {letter.leftOut !== "" && (
        <>
          <dt>Left out</dt>
          <dd>{letter.leftOut}: it was too large for the topic.</dd>
        </>
      )}
    </dl>
  );
}

function Header({ name, value }: { name: string; value: Part | null }) {
  return (
    <>
      <dt class="mono">{visible(name)}</dt>
      <dd class="mono">{value === null ? "null" : visible(value.text)}</dd>
    </>
  );
}

/** The original bytes of a part: their beginning as text, and all of them as a file. */
function Bytes(props: { title: string; path: string; part: Part | null }) {
  const { title, path, part } = props;
  return (
    <div class="stack part">
      <div class="row ends">
        <h3>{title}</h3>
        <span class="soft small">
          {part === null ? (
            "null"
          ) : (
            <>
              {part.format}, {formatBytes(part.bytes)}
              {part.cut && ", the beginning is shown"}{" "}
              <a href={url(path)} download={title.toLowerCase()}>
                Download<span class="hidden-text"> the {title.toLowerCase()}</span>
              </a>
            </>
          )}
        </span>
      </div>
      {part !== null && (
        <pre class="bytes" tabIndex={0} aria-label={`${title} of the letter`}>
          {visible(part.text)}
        </pre>
      )}
    </div>
  );
}

function Correction(props: { topic: string; letter: Letter; reason: string | undefined; onReplayed: () => void }) {
  const { topic, letter } = props;
  const key = useCorrection(pathTo(topic, letter, "key"), letter.key);
  const value = useCorrection(pathTo(topic, letter, "value"), letter.value);
  const [again, setAgain] = useState(false);
  const [busy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const run = async (dryRun: boolean) => {
    const [setKey, setValue] = [key.change(), value.change()];
    if (setKey === null || setValue === null) return; // The fields say what is wrong.
    setBusy(true);
    setError(null);
    setOutcome(null);
    try {
      const body = {
        partition: letter.partition,
        offset: String(letter.offset),
        dryRun,
        ...(letter.replayed || again ? { again: true } : {}),
        ...(setKey === undefined ? {} : { setKey }),
        ...(setValue === undefined ? {} : { setValue }),
      };
      setOutcome(await post<Outcome>(`/v1/dead-letters/${encodeURIComponent(topic)}/replay`, body));
      if (!dryRun) props.onReplayed();
    } catch (failed) {
      setError(asApiError(failed));
    } finally {
      setBusy(false);
    }
  };
  const off =
    props.reason ?? (letter.replayed && !again ? "It has been replayed. Choose “Replay it again” first." : undefined);
  return (
    <div class="stack correction">
      <h3>Correct and replay</h3>
      <div class="parts">
        <BytesEditor title="Key" correction={key} />
        <BytesEditor title="Value" correction={value} />
      </div>
      {letter.replayed && <Checkbox label="Replay it again" checked={again} onChange={setAgain} />}
      <div class="row">
        <ActionButton class="primary" reason={busy ? "A request is running." : off} onClick={() => void run(false)}>
          Replay this letter
        </ActionButton>
        <ActionButton reason={busy ? "A request is running." : off} onClick={() => void run(true)}>
          Preview
        </ActionButton>
      </div>
      <div aria-live="polite">
        {outcome && <OutcomeText outcome={outcome} />}
        {error && <ErrorPanel error={error} />}
      </div>
    </div>
  );
}
