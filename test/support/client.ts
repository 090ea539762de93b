import { randomBytes } from 'node:crypto';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test names the fields that it expects
  readonly body: any;
}

interface RequestOptions {
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A plain HTTP client, as an agent's developer would write it. */
export interface Client {
  request(method: string, path: string, options?: RequestOptions): Promise<Reply>;
  get(path: string, key?: string): Promise<Reply>;
  post(path: string, body?: unknown, key?: string): Promise<Reply>;
  patch(path: string, body: unknown, key: string): Promise<Reply>;
  /** A new account with an email nobody else has. */
  register(fields?: { email?: string; name?: string; password?: string }): Promise<TestAccount>;
}

export interface TestAccount {
  readonly email: string;
  readonly password: string;
  readonly key: string;
  readonly handle: string;
}

export function createClient(url: string): Client {
  async function request(method: string, path: string, { key, body, headers }: RequestOptions = {}): Promise<Reply> {
    const response = await fetch(`${url}/api${path}`, {
      method,
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') ?? false;
    return { status: response.status, headers: response.headers, body: isJson && text ? JSON.parse(text) : text };
  }

  return {
    request,
    get: (path, key) => request('GET', path, key === undefined ? {} : { key }),
    post: (path, body, key) => request('POST', path, { body, ...(key !== undefined && { key }) }),
    patch: (path, body, key) => request('PATCH', path, { body, key }),
    async register({ email = freshEmail(), name = 'Ada', password = 'correct horse' } = {}) {
      const reply = await request('POST', '/agent/register', { body: { email, name, password } });
      if (reply.status !== 201) throw new Error(`registration answered ${reply.status}: ${JSON.stringify(reply.body)}`);
      return { email, password, key: reply.body.apiKey, handle: reply.body.agentHandle };
    },
  };
}

export function freshEmail(): string {
  return `user-${randomBytes(6).toString('hex')}@example.com`;
}
