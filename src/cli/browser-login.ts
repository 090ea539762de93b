import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Env } from './files.ts';
import { CliError } from './outcome.ts';
import type { Tools } from './tools.ts';

const patienceMs = 10 * 60_000;

/**
 * The owner signs in on the website and says what this computer may do; the browser brings back a code, for which the service gives a key
 * (OAuth with PKCE). Returns the key.
 */
export async function askInBrowser(url: string, { env, note }: Pick<Tools, 'env' | 'note'>): Promise<string> {
  const verifier = randomBytes(32).toString('base64url');
  const state = randomBytes(16).toString('base64url');
  const { redirectUri, answer } = await listen(state);
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: 'paywright',
    redirect_uri: redirectUri,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    scope: 'read pay withdraw manage',
    state,
  });
  const page = `${url}/oauth/authorize?${query}`;
  note(`Opening your browser. If nothing happens, open this address on this computer:\n${page}`);
  openBrowser(page, env);
  const given = await answer;
  const code = given.get('code');
  if (code === null) throw refused(given.get('error_description') ?? given.get('error') ?? 'The answer had no code.');
  return exchange(url, { code, verifier, redirectUri });
}

/** Waits for the browser on a free port of this computer. Anything but the answer to our own question is refused. */
async function listen(state: string) {
  let done: (answer: URLSearchParams) => void = () => {};
  let late: (error: Error) => void = () => {};
  const answer = new Promise<URLSearchParams>((resolve, reject) => {
    done = resolve;
    late = reject;
  });
  const server = createServer((request, response) => {
    // Any page in the browser can send requests to this port, also such as no URL can be made of.
    const [path, query] = (request.url ?? '').split('?');
    const searchParams = new URLSearchParams(query);
    const isOurs = path === '/callback' && searchParams.get('state') === state;
    response.writeHead(isOurs ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
    const isSignedIn = searchParams.has('code');
    const text = isSignedIn ? 'This computer is connected.' : 'This computer was not connected.';
    response.end(isOurs ? `${text} You can close this window.\n` : 'Not found\n', () => isOurs && done(searchParams));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const timer = setTimeout(() => late(refused('Nobody answered in the browser for ten minutes.')), patienceMs);
  const { port } = server.address() as AddressInfo;
  const end = () => {
    clearTimeout(timer);
    server.close();
    server.closeAllConnections();
  };
  return { redirectUri: `http://127.0.0.1:${port}/callback`, answer: answer.finally(end) };
}

function openBrowser(page: string, env: Env): void {
  const usual = { darwin: 'open', win32: 'explorer' }[process.platform as string] ?? 'xdg-open';
  const child = spawn(env['BROWSER'] || usual, [page], { stdio: 'ignore', detached: true });
  // The address was shown, so a computer without a browser is no error.
  child.once('error', () => {});
  child.unref();
}

interface Exchange {
  readonly code: string;
  readonly verifier: string;
  readonly redirectUri: string;
}

async function exchange(url: string, { code, verifier, redirectUri }: Exchange): Promise<string> {
  const response = await ask(`${url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: 'paywright',
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
    }),
    redirect: 'error',
  });
  const answer = (await response.json().catch(() => ({}))) as Readonly<Record<string, string>>;
  const { access_token: key, error_description: why } = answer;
  if (!response.ok || key === undefined) throw refused(why ?? `The service answered with status ${response.status}.`);
  return key;
}

async function ask(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    const detail = `The service at ${new URL(url).origin} did not answer: ${((error as Error).cause as Error | undefined)?.message}.`;
    throw new CliError('error', { code: 'connection_lost', detail: `${detail} Run paywright login again.` });
  }
}

function refused(detail: string): CliError {
  return new CliError('refused', { code: 'login_refused', detail });
}
