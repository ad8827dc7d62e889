// Users: list, add, change a password, remove. A password is sent once, and shown by nobody.
import { useState } from "preact/hooks";
import { asApiError, del, get, post, type ApiError } from "../../lib/api";
import { formatCount, visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { textColumn } from "../../parts/columns";
import { Confirm, Dialog } from "../../parts/dialog";
import { Empty, ErrorPanel } from "../../parts/empty";
import { ActionButton, Checkbox, Field } from "../../parts/field";
import { List, SearchField } from "../../parts/list";
import { Pager } from "../../parts/pager";
import { Table, type Column } from "../../parts/table";
import { Link, queryOf, setQuery } from "../../shell/router";
import { toast } from "../../shell/toasts";

interface User {
  user: string;
  mechanisms: { mechanism: string; iterations: number }[];
  roles: string[] | null;
}

interface Answer {
  users: User[];
  total: number;
  hasRules: boolean;
  mayChange: boolean;
}

const LIMIT = 100;
const LENGTH_MIN = 8;
const NO_RIGHT = "Changing users needs the right ALTER on the cluster.";

type Asked = { kind: "add" } | { kind: "password" | "remove"; user: string } | null;

export function UserList() {
  const search = queryOf("search");
  const offset = Number(queryOf("offset", "0")) || 0;
  const [asked, setAsked] = useState<Asked>(null);
  const answer = useLoad(`${search}\n${offset}`, (signal) =>
    get<Answer>("/v1/users", { query: { search, offset, limit: LIMIT }, signal }),
  );
  const found = answer.data;
  const reason = found?.mayChange === false || answer.error?.status === 403 ? NO_RIGHT : undefined;
  const done = (text: string) => {
    toast(text);
    answer.reload();
  };
  const columns: Column<User>[] = [
    textColumn("user", "User", (row) => row.user),
    ...(found?.hasRules === false
      ? []
      : [{ id: "roles", title: "Roles", width: 170, cell: (row: User) => (row.roles ?? []).map(visible).join(", ") }]),
    {
      id: "mechanisms",
      title: "Logins",
      wide: true,
      cell: (row) => row.mechanisms.map((one) => one.mechanism).join(", "),
    },
    {
      id: "actions",
      title: "Actions",
      width: 260,
      cell: (row) => (
        <span class="row nowrap">
          <Link to="/users" query={{ view: "rules", principal: `User:${row.user}` }} label={`Rules of ${visible(row.user)}`}>
            Rules
          </Link>
          <ActionButton class="small" reason={reason} onClick={() => setAsked({ kind: "password", user: row.user })}>
            Password…<span class="hidden-text"> of {visible(row.user)}</span>
          </ActionButton>
          <ActionButton
            class="small danger"
            reason={reason}
            onClick={() => setAsked({ kind: "remove", user: row.user })}
          >
            Remove…<span class="hidden-text"> {visible(row.user)}</span>
          </ActionButton>
        </span>
      ),
    },
  ];
  return (
    <>
      <List
        loaded={answer}
        filters={
          <>
            <SearchField name="search" label="Search users" />
            <ActionButton class="primary" onClick={() => setAsked({ kind: "add" })} reason={reason}>
              New user
            </ActionButton>
          </>
        }
        count={(data) => `${formatCount(data.total)} found`}
      >
        {(data) => (
          <>
            {!data.hasRules && (
              <p class="flat soft">
                This server does not ask for a login. Users matter to listeners of the broker that ask for one.
              </p>
            )}
            <Table
              caption="Users"
              name="users"
              columns={columns}
              rows={data.users}
              rowKey={(row) => row.user}
              rowHeight={36}
              empty={<Nothing search={search} />}
            />
            <Pager offset={offset} limit={LIMIT} total={data.total} onMove={(to) => setQuery({ offset: to || "" })} />
          </>
        )}
      </List>
      {asked?.kind === "add" && <PasswordDialog onClose={() => setAsked(null)} onDone={done} />}
      {asked?.kind === "password" && (
        <PasswordDialog user={asked.user} onClose={() => setAsked(null)} onDone={done} />
      )}
      {asked?.kind === "remove" && <Removal user={asked.user} onClose={() => setAsked(null)} onDone={done} />}
    </>
  );
}

function Nothing(props: { search: string }) {
  if (props.search !== "") return <Empty title="No user matches" />;
  return (
    <Empty title="There are no users with passwords">
      <p>“New user” adds one. The password works with SCRAM-SHA-256, SCRAM-SHA-512 and PLAIN.</p>
    </Empty>
  );
}

interface Done {
  onClose: () => void;
  onDone: (text: string) => void;
}

/** Asks for a new user with its password, or for the new password of a user. */
function PasswordDialog(props: Done & { user?: string }) {
  const known = props.user;
  const [user, setUser] = useState(known ?? "");
  const [password, setPassword] = useState("");
  const [again, setAgain] = useState("");
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const short = password !== "" && password.length < LENGTH_MIN;
  const differs = again !== "" && again !== password;
  const complete = user !== "" && password.length >= LENGTH_MIN && again === password;
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await post<unknown>(known === undefined ? "/v1/users" : "/v1/users/password", { user, password });
      props.onClose();
      props.onDone(known === undefined ? `Added user ${visible(user)}` : `Changed the password of ${visible(user)}`);
    } catch (failed) {
      setError(asApiError(failed));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={known === undefined ? "New user" : `Password of ${visible(known)}`}
      onClose={props.onClose}
    >
      <form class="stack" onSubmit={submit}>
        {known === undefined && (
          <Field label="User" value={user} onInput={setUser} required autofocus autocomplete="off" />
        )}
        <Field
          label="Password"
          type="password"
          value={password}
          onInput={setPassword}
          required
          autofocus={known !== undefined}
          autocomplete="new-password"
          hint={`At least ${LENGTH_MIN} characters.`}
          error={short ? `${LENGTH_MIN - password.length} more characters are needed.` : undefined}
        />
        <Field
          label="Password again"
          type="password"
          value={again}
          onInput={setAgain}
          required
          autocomplete="new-password"
          error={differs ? "The two passwords are different." : undefined}
        />
        {known !== undefined && <p class="flat soft">Sessions of this user end, and its clients need the new password.</p>}
        {error && <ErrorPanel error={error} />}
        <div class="row end">
          <button type="button" onClick={props.onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={!complete || busy}>
            {known === undefined ? "Add user" : "Change password"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Removal(props: Done & { user: string }) {
  const { user } = props;
  const [force, setForce] = useState(false);
  const [last, setLast] = useState(false);
  const run = async () => {
    try {
      await del<unknown>("/v1/users", { query: { user, force } });
    } catch (failed) {
      setLast(asApiError(failed).status === 409);
      throw failed;
    }
    props.onDone(`Removed user ${visible(user)}`);
  };
  return (
    <Confirm title="Remove a user" action="Remove user" danger typed={user} onConfirm={run} onClose={props.onClose}>
      <p>
        User <strong>{visible(user)}</strong> can no longer log in. The sessions of this user end, and the tokens are revoked.
        Rules and roles stay, and apply to a new user of this name.
      </p>
      {last && <Checkbox label="Remove the last administrator" checked={force} onChange={setForce} />}
    </Confirm>
  );
}
