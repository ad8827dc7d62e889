// Rules of access control lists: what requests carry, and the rules that a producer, a consumer or a
// user of SQL needs.

export interface Rule {
  resource: string;
  name: string;
  pattern: string;
  permission: string;
  operation: string;
  principal: string;
  host: string;
}

/** One request: a rule for each principal and operation. */
export interface Rules {
  principals: string[];
  operations: string[];
  resource: string;
  name: string;
  pattern: string;
  permission: string;
  host: string;
}

export const PURPOSES = {
  producer: "Producer",
  consumer: "Consumer",
  sql: "User of SQL",
  one: "One rule",
} as const;
export type Purpose = keyof typeof PURPOSES;

export const RESOURCES = ["topic", "group", "cluster", "transactional_id", "subject", "source"] as const;
export const OPERATIONS: Record<string, readonly string[]> = {
  topic: ["READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "ALL"],
  group: ["READ", "DELETE", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "ALL"],
  cluster: ["CREATE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "ALL"],
  transactional_id: ["WRITE", "DESCRIBE", "ALL"],
  subject: ["READ", "WRITE", "DELETE", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "ALL"],
  source: ["READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "ALL"],
};

export interface Form {
  purpose: Purpose;
  principal: string;
  host: string;
  prefix: boolean;
  topic: string;
  group: string;
  transactionalId: string;
  source: string;
  mayCreate: boolean;
  resource: string;
  name: string;
  operation: string;
  permission: string;
}

export const EMPTY: Form = {
  purpose: "consumer",
  principal: "User:",
  host: "*",
  prefix: false,
  topic: "",
  group: "",
  transactionalId: "",
  source: "",
  mayCreate: false,
  resource: "topic",
  name: "",
  operation: "READ",
  permission: "allow",
};

/** Return the requests of a form; those of empty names are left out. */
export function rulesOf(form: Form): Rules[] {
  const rule = (resource: string, name: string, ...operations: string[]): Rules => ({
    principals: [form.principal.trim()],
    operations,
    resource,
    name: name.trim(),
    pattern: form.prefix && resource !== "cluster" ? "prefixed" : "literal",
    permission: "allow",
    host: form.host.trim() || "*",
  });
  const found: Rules[] = [];
  switch (form.purpose) {
    case "producer":
      found.push(rule("topic", form.topic, "WRITE", "DESCRIBE"));
      if (form.transactionalId !== "") found.push(rule("transactional_id", form.transactionalId, "WRITE", "DESCRIBE"));
      break;
    case "consumer":
      found.push(rule("topic", form.topic, "READ", "DESCRIBE"));
      if (form.group !== "") found.push(rule("group", form.group, "READ"));
      break;
    case "sql":
      // Who declares a stream must be allowed to read its topic; who reads the stream need not.
      found.push(rule("source", qualified(form.source), "READ", ...(form.mayCreate ? ["CREATE"] : [])));
      if (form.topic !== "") found.push(rule("topic", form.topic, "READ", ...(form.mayCreate ? ["WRITE"] : [])));
      break;
    case "one":
      found.push({
        ...rule(form.resource, form.resource === "cluster" ? "kafka-cluster" : form.name, form.operation),
        permission: form.permission,
      });
  }
  return found.filter((one) => one.name !== "" || one.resource === "cluster");
}

/** The name of a stream or table in rules has its service; that of the default one is added. */
export function qualified(source: string): string {
  const name = source.trim();
  return name === "" || name === "*" || name.includes(".") ? name : `default_.${name}`;
}

/** Return what keeps a form from being sent; empty if nothing does. */
export function problemOf(form: Form): string {
  if (!/^(User|Role):./.test(form.principal.trim())) return "Write the principal as User:NAME or Role:NAME.";
  if (rulesOf(form).length === 0) return "Name a topic, a group, or another object of the rules.";
  if (form.purpose === "consumer" && form.topic === "") return "Name the topic.";
  if (form.purpose === "producer" && form.topic === "") return "Name the topic.";
  return "";
}

/** Return one rule as a sentence. */
export function sentence(rule: Rule): string {
  const what =
    rule.resource === "cluster"
      ? "the cluster"
      : rule.name === "*"
        ? `every ${plain(rule.resource)}`
        : rule.pattern === "prefixed"
          ? `every ${plain(rule.resource)} whose name starts with ${rule.name}`
          : `${plain(rule.resource)} ${rule.name}`;
  const may = rule.permission === "deny" ? "may not" : "may";
  const where = rule.host === "*" ? "" : `, from ${rule.host}`;
  return `${rule.principal} ${may} ${rule.operation} ${what}${where}`;
}

/** Return the single rules of a request. */
export function spread(rules: Rules): Rule[] {
  const { principals, operations, ...rest } = rules;
  return principals.flatMap((principal) => operations.map((operation) => ({ ...rest, principal, operation })));
}

/** Return the request that removes one rule. */
export function asRequest(rule: Rule): Rules {
  const { principal, operation, ...rest } = rule;
  return { ...rest, principals: [principal], operations: [operation] };
}

function plain(resource: string): string {
  return resource === "source" ? "stream or table" : resource.replaceAll("_", " ");
}
