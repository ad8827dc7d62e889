// Fuzzy search: the letters of the search in their order, the better the closer they are together.

/** Return how well a text fits, the higher the better; null if it does not. */
export function score(search: string, text: string): number | null {
  const wanted = search.toLowerCase().replace(/\s+/g, "");
  const lower = text.toLowerCase();
  if (wanted === "") return 0;
  const whole = lower.indexOf(wanted);
  if (whole >= 0) return 1000 - whole - lower.length / 100 + (isStart(text, whole) ? 200 : 0);
  let points = 0;
  let at = -1;
  for (const letter of wanted) {
    const next = lower.indexOf(letter, at + 1);
    if (next < 0) return null;
    if (next === at + 1) points += 8;
    else if (isStart(text, next)) points += 6;
    else points -= Math.min(next - at, 10) / 4;
    at = next;
  }
  return points - lower.length / 100;
}

/** Return the entries that fit, the best first; equal ones in their order. */
export function search<T>(wanted: string, entries: readonly T[], textOf: (entry: T) => string, most: number): T[] {
  return entries
    .map((entry, index) => ({ entry, index, points: score(wanted, textOf(entry)) }))
    .filter((one) => one.points !== null)
    .sort((a, b) => b.points! - a.points! || a.index - b.index)
    .slice(0, most)
    .map((one) => one.entry);
}

function isStart(text: string, at: number): boolean {
  if (at === 0) return true;
  const before = text[at - 1]!;
  const here = text[at]!;
  return /[^a-z0-9]/i.test(before) || (/[a-z]/.test(before) && /[A-Z]/.test(here));
}
