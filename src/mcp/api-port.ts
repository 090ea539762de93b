/** A request to one operation of the API, as an agent's tool makes it. */
export interface ApiCall {
  readonly operationId: string;
  readonly method: string;
  /** As in the OpenAPI document, with `{id}`. */
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface ApiAnswer {
  readonly status: number;
  /** Of an error, the problem. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds?: number | undefined;
}

/** The API, in the same process or over HTTP. Refusals are answers; what is thrown is a lost connection. */
export type CallApi = (call: ApiCall) => Promise<ApiAnswer>;
