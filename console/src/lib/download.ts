// Downloads that say why they fail.
import { send, url, type Options } from "./api";

/**
 * Let the browser save what the server answers. The browser would show a refusal as a failed
 * download without its reason, so that the first bytes are asked for here. Throws ApiError.
 */
export async function startDownload(path: string, query: Options["query"] = {}): Promise<void> {
  const probe = new AbortController();
  await send("GET", path, { query, signal: probe.signal });
  probe.abort();
  const link = document.createElement("a");
  link.href = url(path, query);
  link.download = "";
  document.body.append(link);
  link.click();
  link.remove();
}
