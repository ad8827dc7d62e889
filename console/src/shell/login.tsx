// The screens of a reader who is not logged in.
import { useEffect, useState } from "preact/hooks";
import { asApiError, type ApiError } from "../lib/api";
import { ErrorPanel } from "../parts/empty";
import { Field } from "../parts/field";
import { logInByPassword, logInByToken } from "./session";

let asked = false;

/** Return whether the reader has just come from a login: the page of before is gone, and the focus with it. */
export function wasAsked(): boolean {
  const before = asked;
  asked = false;
  return before;
}

/** Ask for user and password, or for the token of the server. */
export function Login(props: { kind: "token" | "password" }) {
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const [user, setUser] = useState("");
  const [secret, setSecret] = useState("");
  const users = props.kind === "password";
  useEffect(() => {
    asked = true;
    document.title = `${users ? "Log in" : "Open the console"} · Duolog`;
  }, []);

  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await (users ? logInByPassword(user, secret) : logInByToken(secret.trim()));
    } catch (failed) {
      setError(refused(asApiError(failed), users));
    }
    setBusy(false);
  };
  return (
    <main class="center">
      <form class="panel stack" onSubmit={submit}>
        <h1>{users ? "Log in to Duolog" : "Open the console"}</h1>
        {users ? (
          <Field label="User" value={user} onInput={setUser} autocomplete="username" required autofocus />
        ) : (
          <p>
            Open the address that the server printed when it started: it ends with <code>#token=…</code>. Or enter the
            token, which is in the file <code>console-token</code> of the server's data directory.
          </p>
        )}
        <Field
          label={users ? "Password" : "Token"}
          type="password"
          value={secret}
          onInput={setSecret}
          autocomplete={users ? "current-password" : "off"}
          required
          autofocus={!users}
        />
        {error && <ErrorPanel error={error} />}
        <button class="primary" type="submit" disabled={busy}>
          {users ? "Log in" : "Open"}
        </button>
      </form>
    </main>
  );
}

function refused(error: ApiError, users: boolean): ApiError {
  if (error.status !== 401) return error;
  error.message = users ? "User or password is wrong" : "This is not the token of this server";
  return error;
}
