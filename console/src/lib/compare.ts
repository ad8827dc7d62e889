// The order of what tables show.

type Numeric = number | string | null | undefined;

/** Compare numbers, which may be texts with more digits than a double holds; unknown ones are least. */
export function compareNumbers(a: Numeric, b: Numeric): number {
  const [left, right] = [a ?? null, b ?? null];
  if (left === null || right === null) return Number(left !== null) - Number(right !== null);
  const difference = Number(left) - Number(right);
  if (difference !== 0 || !isWhole(left) || !isWhole(right)) return Math.sign(difference);
  const [first, second] = [BigInt(left), BigInt(right)];
  return first < second ? -1 : first > second ? 1 : 0;
}

function isWhole(value: number | string): boolean {
  return typeof value === "string" && /^-?\d+$/.test(value);
}
