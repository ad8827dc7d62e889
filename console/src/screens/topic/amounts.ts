// Amounts of time and of bytes in settings: Kafka wants milliseconds and bytes, people write 7d or 2 GiB.
import { meaning } from "../settings/values";

const TIMES: Record<string, number> = { ms: 1, s: 1000, min: 60_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const SIZES: Record<string, number> = {
  kib: 2 ** 10, kb: 1e3, mib: 2 ** 20, mb: 1e6, gib: 2 ** 30, gb: 1e9, tib: 2 ** 40, tb: 1e12,
};

function unitsOf(name: string): Record<string, number> | null {
  if (/(^|\.)ms(\.|$)/.test(name)) return TIMES;
  return /(^|\.)bytes(\.|$)/.test(name) ? SIZES : null;
}

/** Return what a text with a unit means, such as 7d for a setting in milliseconds; other texts as they are. */
export function amountOf(name: string, text: string): string {
  const found = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/.exec(text.trim().toLowerCase());
  const factor = found === null ? undefined : unitsOf(name)?.[found[2]!];
  if (found === null || factor === undefined) return text;
  const amount = Math.round(Number(found[1]) * factor);
  return Number.isSafeInteger(amount) ? String(amount) : text;
}

/** Return what a typed text means, and how to type it. */
export function hintOf(name: string, text: string): string | undefined {
  const units = unitsOf(name);
  if (units === null) return undefined;
  const amount = amountOf(name, text);
  const means = meaning(name, amount);
  const example = units === TIMES ? "Milliseconds, or with a unit: 12h, 7d" : "Bytes, or with a unit: 500 MiB, 2 GiB";
  return amount === text ? [means, example].filter((part) => part !== "").join(". ") : `${amount}, ${means || "0"}`;
}

/** Return whether a new value of a limit of retention is lower, so that records are deleted. */
export function lowers(config: { name: string; value: string | null }, text: string): boolean {
  if (!/^retention\.(ms|bytes)$/.test(config.name)) return false;
  const next = amountOf(config.name, text.trim());
  if (!/^\d+$/.test(next)) return false;
  return config.value === null || config.value.startsWith("-") || BigInt(next) < BigInt(config.value);
}
