import { join } from 'node:path';
import { Paywright } from '#sdk';
import { parseUrl } from '../kernel/text/parse-url.ts';
import { configFolder, type Env, readPrivate } from './files.ts';
import { CliError, usage } from './outcome.ts';

/** What `paywright login` has stored. */
export interface Login {
  readonly url: string;
  readonly apiKey: string;
  readonly handle: string;
}

/** `npm start` on this machine. */
export const usualUrl = 'http://127.0.0.1:8402';

export function loginFile(env: Env): string {
  return join(configFolder(env), 'login.json');
}

/** The address of a service without its `/api`. */
export function serviceUrl(text: string): string {
  const url = parseUrl(text);
  if (url === undefined) throw usage(`${JSON.stringify(text)} is not a URL such as https://pay.example.com`);
  const { protocol, username, password, search, hash, href } = url;
  if (!/^https?:$/.test(protocol) || username || password || search || hash)
    throw usage('The URL of the service begins with https:// or http:// and has no user, query or fragment.');
  return href.replace(/\/+$/, '').replace(/\/api$/, '');
}

export interface Session {
  /** Without `/api`. */
  readonly url: string;
  readonly apiKey: string;
  readonly client: Paywright;
}

export interface SessionOptions {
  readonly env: Env;
  readonly warn: (line: string) => void;
}

/**
 * The variables win over the stored login. A stored key is only sent to the service that it was stored for, so PAYWRIGHT_URL alone cannot
 * carry it elsewhere.
 */
export function openSession({ env, warn }: SessionOptions): Session {
  const stored = readPrivate<Login>(loginFile(env), warn);
  const url = serviceUrl(env['PAYWRIGHT_URL'] || stored?.url || usualUrl);
  const apiKey = env['PAYWRIGHT_API_KEY'] || (stored?.url === url ? stored.apiKey : undefined);
  if (apiKey === undefined) {
    const detail = `You are not signed in to ${url}. Run "paywright login", or set PAYWRIGHT_API_KEY.`;
    throw new CliError('notSignedIn', { code: 'not_signed_in', detail });
  }
  return { url, apiKey, client: connect(url, apiKey) };
}

/** An order may take half a minute. A person does not wait for much longer than two minutes in all. */
const patience = { timeoutMs: 40_000, maxRetries: 2 };

export function connect(url: string, apiKey: string | undefined): Paywright {
  return new Paywright({ apiKey, baseUrl: `${url}/api`, ...patience });
}
