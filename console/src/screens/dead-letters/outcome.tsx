// What a replay has written, or what it would write.
import { formatCount } from "../../lib/format";
import type { Outcome } from "./letters";

export function OutcomeText({ outcome }: { outcome: Outcome }) {
  const letters = (count: number) => `${formatCount(count)} ${count === 1 ? "letter" : "letters"}`;
  const verb = outcome.dryRun ? "would be written" : "written";
  return (
    <div class="outcome panel stack">
      <strong>
        {letters(outcome.letters)} {verb}
        {outcome.corrected > 0 && `, ${formatCount(outcome.corrected)} corrected`}
      </strong>
      {outcome.written.length > 0 && (
        <ul>
          {outcome.written.slice(0, 50).map((one) => (
            <li key={`${one.topic}:${one.partition}`}>
              {letters(one.letters)} to {one.topic},{" "}
              {one.partition === null ? "in the partition that the key chooses" : `partition ${one.partition}`}
            </li>
          ))}
        </ul>
      )}
      {outcome.kept.length > 0 && (
        <>
          <span>Not written:</span>
          <ul>
            {outcome.kept.map((one) => (
              <li key={one.why} class="break">
                {letters(one.letters)}: {one.why}
              </li>
            ))}
          </ul>
        </>
      )}
      {outcome.letters === 0 && outcome.kept.length === 0 && (
        <span class="soft">No open letter was selected: they may have been replayed meanwhile.</span>
      )}
    </div>
  );
}
