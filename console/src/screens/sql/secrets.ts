// Secrets in statements: they are run, and neither kept nor shared.
//
//   SET 'sasl.password' = 'x';  DEFINE password = 'x';  'http://user:x@host'     x ─▶ [hidden]

export const HIDDEN = "[hidden]";
const SECRET = /password|passwd|secret|jaas|user[.]info|ssl[.]keystore[.]key|token|credential/i;
// Both start at a word only, so that the time is linear in the length of any text.
const ASSIGNED = /(?<![\w.$-])([\w.$-]+)(['"`]?\s*=\s*)'(?:[^']|'')*'?/g;
const USER = /(?<!\w)(\w{1,20}:\/\/)[^\s/'"@]+@/g;

/** Return statements with placeholders in place of secrets. */
export function withoutSecrets(sql: string): string {
  return sql
    .replace(ASSIGNED, (all, name: string, between: string) => (SECRET.test(name) ? `${name}${between}'${HIDDEN}'` : all))
    .replace(USER, `$1${HIDDEN}@`);
}

/** Return whether a property or variable of this name may be secret. */
export function isSecret(name: string): boolean {
  return SECRET.test(name);
}

/** Return values without those that may be secret. */
export function publicValues(values: Record<string, string>): Record<string, string> {
  const kept = Object.entries(values).filter(([name]) => !isSecret(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, value.replace(USER, `$1${HIDDEN}@`)]));
}
