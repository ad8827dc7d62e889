// Users of the cluster, and the rules that allow or deny them something.
import { Link, queryOf } from "../../shell/router";
import { RuleList } from "./rule-list";
import { UserList } from "./user-list";

const VIEWS = { users: "Users", rules: "Access control lists" } as const;
type View = keyof typeof VIEWS;

export default function Users() {
  const view: View = queryOf("view") === "rules" ? "rules" : "users";
  return (
    <div class="stack">
      <h1>Users and rights</h1>
      <nav class="tabs" aria-label="Users or rules">
        {(Object.keys(VIEWS) as View[]).map((one) => (
          <Link to="/users" query={{ view: one === "users" ? "" : one }} current={one === view} key={one}>
            {VIEWS[one]}
          </Link>
        ))}
      </nav>
      {view === "users" ? <UserList /> : <RuleList />}
    </div>
  );
}
