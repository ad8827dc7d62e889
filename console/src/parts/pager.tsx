// Moves through a list that the server answers in pages.
import { formatCount } from "../lib/format";

export function Pager(props: { offset: number; limit: number; total: number; onMove: (offset: number) => void }) {
  const { offset, limit, total } = props;
  if (total <= limit && offset === 0) return null;
  const last = Math.min(offset + limit, total);
  return (
    <nav class="row" aria-label="Pages">
      <button disabled={offset === 0} onClick={() => props.onMove(Math.max(0, offset - limit))}>
        Previous
      </button>
      <button disabled={last >= total} onClick={() => props.onMove(offset + limit)}>
        Next
      </button>
      <span class="soft" role="status">
        {formatCount(Math.min(offset + 1, total))} to {formatCount(last)} of {formatCount(total)}
      </span>
    </nav>
  );
}
