// The entry: theme, session, router; then the page.
import { effect } from "@preact/signals";
import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./shell/theme.css";
import "./shell/layout.css";
import "./parts/parts.css";
import "./screens/screens.css";
import "./shell/forced.css";
import { keepFocus } from "./lib/focus";
import { ErrorPanel, Waiting } from "./parts/empty";
import { Layout } from "./shell/layout";
import { Login } from "./shell/login";
import { startRouter } from "./shell/router";
import { refresh, session, startSession, watchSession } from "./shell/session";
import { startLive, stopLive } from "./shell/live";
import { startShortcuts } from "./shell/shortcuts";
import { startTheme } from "./shell/theme";
import { Toasts } from "./shell/toasts";

function Page() {
  const now = session.value;
  return (
    <>
      {now.state === "open" && <Layout />}
      {(now.state === "token" || now.state === "password") && <Login kind={now.state} />}
      {now.state === "asking" && <Waiting />}
      {now.state === "away" && (
        <main class="center">
          <div class="panel stack">
            <h1>Duolog</h1>
            <ErrorPanel error={now.error} />
            <button onClick={() => void refresh()}>Try again</button>
          </div>
        </main>
      )}
      <Toasts />
    </>
  );
}

startTheme();
startRouter();
watchSession();
startShortcuts();
keepFocus();
effect(() => (session.value.state === "open" ? startLive() : stopLive()));
void startSession();
render(<Page />, document.getElementById("app")!);
