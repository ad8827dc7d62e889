// Requests to the server of this page: JSON in, JSON out, errors for people.
import { signal } from "@preact/signals";
import { parseJson } from "./json";

/** The prefix of all paths of this server; usually empty. */
export const base: string = meta("duolog-base");

/** The nonce of this page's policy, for styles that a library adds. */
export const nonce: string =
  typeof document === "undefined" ? "" : (document.querySelector<HTMLScriptElement>("script[nonce]")?.nonce ?? "");

/** Counts refused requests: the shell then asks for a login. */
export const loginNeeded = signal(0);

/** False while the server cannot be reached: the last request failed without an answer. */
export const reachable = signal(true);

/** An error that the server reports, or that it cannot be reached (status 0). */
export class ApiError extends Error {
  override readonly name = "ApiError";
  constructor(
    message: string,
    readonly status: number,
    readonly code: number = 0,
    readonly detail: string = "",
    readonly hint: string = "",
    /** The whole body of the answer, for errors with more members; null if it was not JSON. */
    readonly body: unknown = null,
  ) {
    super(message);
  }
}

export interface Options {
  /** Parameters after the question mark; undefined ones are left out. */
  query?: Record<string, string | number | boolean | undefined>;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Return the address of a path of the server, such as `/v1/topics`. */
export function url(path: string, query: Options["query"] = {}): string {
  const pairs = Object.entries(query).filter((pair) => pair[1] !== undefined);
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return `${base}${path}${text ? `?${text}` : ""}`;
}

/** Send a request and return the response as it is; throws ApiError unless its status is 2xx. */
export async function send(method: string, path: string, options: Options = {}): Promise<Response> {
  const { body, query, headers, signal: aborted } = options;
  let response: Response;
  try {
    response = await fetch(url(path, query), {
      method,
      credentials: "same-origin",
      cache: "no-store",
      // Without this header, the server would make the browser show its own dialog for passwords.
      headers: {
        "X-Requested-With": "duolog-console",
        Accept: "application/json",
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(aborted === undefined ? {} : { signal: aborted }),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    reachable.value = false;
    throw new ApiError("The server cannot be reached", 0, 0, "", "The page tries again by itself.");
  }
  reachable.value = true;
  if (response.ok) return response;
  const error = await errorOf(response);
  if (response.status === 401) loginNeeded.value += 1;
  throw error;
}

/** Send a request and return the JSON of the answer; see `parseJson`. */
export async function request<T>(method: string, path: string, options: Options = {}): Promise<T> {
  const response = await send(method, path, options);
  const text = await response.text();
  return (text === "" ? null : parseJson(text)) as T;
}

export const get = <T>(path: string, options: Options = {}) => request<T>("GET", path, options);
export const post = <T>(path: string, body: unknown, options: Options = {}) =>
  request<T>("POST", path, { ...options, body });
export const put = <T>(path: string, body: unknown, options: Options = {}) =>
  request<T>("PUT", path, { ...options, body });
export const del = <T>(path: string, options: Options = {}) => request<T>("DELETE", path, options);

/** Return the error of a response that is not 2xx. */
export async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => "");
  return errorOfBody(text, response.status);
}

/** What clients of ksqlDB know: the same whether a thing exists or not. */
const FORBIDDEN = "You are forbidden from using this cluster.";

/** Return the error in the body of an answer. */
export function errorOfBody(text: string, status: number): ApiError {
  try {
    const body = parseJson(text) as Record<string, unknown>;
    const member = (name: string) => (typeof body[name] === "string" ? (body[name] as string) : "");
    const message = member("message") || `The server answered with status ${status}`;
    if (status === 403 && message === FORBIDDEN) {
      return new ApiError("Your rights do not include this, or it does not exist", status, Number(body["error_code"] ?? 0), "",
        "An administrator can give you the right, in “Users and rights”.", body);
    }
    return new ApiError(message, status, Number(body["error_code"] ?? 0), member("detail"), member("hint"), body);
  } catch {
    return new ApiError(`The server answered with status ${status}`, status);
  }
}

/** Return any error as one that can be shown. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(error instanceof Error ? error.message : String(error), -1);
}

function meta(name: string): string {
  if (typeof document === "undefined") return "";
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? "";
}
