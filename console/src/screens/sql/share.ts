// Links to a state of the SQL screen: compressed, after the # of the address, which no server sees.
import { publicValues, withoutSecrets } from "./secrets";

export interface SharedState {
  sql: string;
  properties: Record<string, string>;
  variables: Record<string, string>;
}

const NAME = "s";
/** Characters of a link; mail programs and chats cut longer ones. */
export const LINK_MAX = 60_000;
const TEXT_MAX = 1_000_000;

/** Return the part of an address after its #; secrets are left out. */
export async function encodeState(state: SharedState): Promise<string> {
  const found = {
    v: 1,
    q: withoutSecrets(state.sql),
    ...(Object.keys(state.properties).length > 0 ? { p: publicValues(state.properties) } : {}),
    ...(Object.keys(state.variables).length > 0 ? { d: publicValues(state.variables) } : {}),
  };
  const bytes = new TextEncoder().encode(JSON.stringify(found));
  const packed = await collect(new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate-raw")));
  return `${NAME}=${toBase64(packed)}`;
}

/** Return the state in the part of an address after #; null if there is none, or it is damaged. */
export async function decodeState(hash: string): Promise<SharedState | null> {
  const text = new URLSearchParams(hash.replace(/^#/, "")).get(NAME);
  if (text === null || text === "") return null;
  try {
    const packed = fromBase64(text);
    const bytes = await collect(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw")), TEXT_MAX);
    const found = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
    if (found["v"] !== 1 || typeof found["q"] !== "string") return null;
    return { sql: found["q"], properties: texts(found["p"]), variables: texts(found["d"]) };
  } catch {
    return null;
  }
}

function texts(value: unknown): Record<string, string> {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(Object.entries(value).filter((pair): pair is [string, string] => typeof pair[1] === "string"));
}

async function collect(stream: ReadableStream<Uint8Array>, most = Infinity): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new Error("the link has too much text");
    }
    parts.push(value);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (one) => one.charCodeAt(0));
}
