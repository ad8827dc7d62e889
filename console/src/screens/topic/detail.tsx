// One record: where it is, key, value, headers.
import { useEffect, useRef } from "preact/hooks";
import { formatBytes, formatTime, visible } from "../../lib/format";
import { ValueView } from "../../parts/value";
import type { BrowsedRecord } from "./model";

export function Detail(props: { record: BrowsedRecord; topic: string; onClose: () => void }) {
  const { record, topic } = props;
  const heading = useRef<HTMLHeadingElement>(null);
  const id = `${record.partition}/${record.offset}`;
  useEffect(() => heading.current?.focus(), [id]);
  const address = `/v1/topics/${encodeURIComponent(topic)}/records/${id}`;
  return (
    <section class="detail stack" aria-label="Record">
      <div class="row ends">
        <h2 tabIndex={-1} ref={heading}>
          Partition {record.partition}, offset {record.offset}
        </h2>
        <button type="button" class="small" onClick={props.onClose}>
          Close
        </button>
      </div>
      <dl class="facts">
        <dt>Time</dt>
        <dd>
          {record.timestamp === "-1" ? "none" : formatTime(record.timestamp)}{" "}
          <span class="soft">{record.timestampType === "append" ? "set by the broker" : record.timestampType === "create" ? "set by the producer" : ""}</span>
        </dd>
        <dt>Size</dt>
        <dd>{formatBytes(record.size)}</dd>
      </dl>
      <ValueView key={`key-${id}`} title="Key" part={record.key} address={`${address}/key`} />
      <ValueView key={`value-${id}`} title="Value" part={record.value} address={`${address}/value`} />
      <section class="value" aria-label="Headers">
        <h3>Headers</h3>
        {record.headers.length === 0 ? (
          <p class="soft">This record has none.</p>
        ) : (
          <dl class="facts">
            {record.headers.map(([name, part], at) => (
              <div class="header-pair" key={at}>
                <dt class="mono">{visible(name)}</dt>
                <dd class="mono">{part === null ? "null" : visible(part.text) + (part.truncated ? " …" : "")}</dd>
              </div>
            ))}
          </dl>
        )}
        {record.headersLeftOut > 0 && <p class="soft">{record.headersLeftOut} more headers are not shown.</p>}
      </section>
    </section>
  );
}
