import { createHash, randomBytes } from 'node:crypto';
import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import { listenHttp } from './listening.ts';
import type { OwnerBrowser } from './owner.ts';

export const callback = 'http://127.0.0.1:9/callback';

/** What the tests read of the answers of the OAuth endpoints. */
export interface OAuthReply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: what is answered is what the tests are about
  readonly body: any;
}

/** A client that does everything by hand, so that a test can get any part of it wrong. */
export function handClient(url: string, { redirectUri = callback } = {}) {
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');

  async function send(path: string, body: string, type: string): Promise<OAuthReply> {
    const response = await fetch(`${url}${path}`, { method: 'POST', headers: { 'content-type': type }, body });
    return { status: response.status, body: await response.json() };
  }
  const form = (path: string, fields: Readonly<Record<string, string>>) =>
    send(path, new URLSearchParams(fields).toString(), 'application/x-www-form-urlencoded');

  return {
    verifier,
    register: (metadata: object = { client_name: 'Test agent', redirect_uris: [redirectUri] }) =>
      send('/oauth/register', JSON.stringify(metadata), 'application/json'),
    token: (fields: Readonly<Record<string, string>>) => form('/oauth/token', fields),
    revoke: (fields: Readonly<Record<string, string>>) => form('/oauth/revoke', fields),
    query: (clientId: string, changes: Readonly<Record<string, string | undefined>> = {}) =>
      new URLSearchParams(
        Object.entries({
          response_type: 'code',
          client_id: clientId,
          redirect_uri: redirectUri,
          code_challenge: challenge,
          code_challenge_method: 'S256',
          state: 'a state',
          scope: 'read pay',
          resource: `${url}/mcp`,
          ...changes,
        }).filter((entry): entry is [string, string] => entry[1] !== undefined),
      ).toString(),
    /** Exchanges a code as the client should. */
    exchange: (clientId: string, code: string, changes: Readonly<Record<string, string>> = {}) =>
      form('/oauth/token', {
        grant_type: 'authorization_code',
        client_id: clientId,
        code,
        code_verifier: verifier,
        redirect_uri: redirectUri,
        resource: `${url}/mcp`,
        ...changes,
      }),
    refresh: (clientId: string, refreshToken: string) =>
      form('/oauth/token', { grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken }),
  };
}

/** What a person sends who leaves the page as it is. */
export const asShown = {
  decision: 'connect',
  'scope-read': 'on',
  'scope-pay': 'on',
  limits: 'within',
  currency: 'USDC',
  day: '10',
  beyond: 'ask',
  'may-transfer': 'on',
  'may-invoice': 'on',
};

/** The owner opens the page of a request and connects the client. Returns where the browser is sent. */
export async function connect(
  browser: OwnerBrowser,
  query: string,
  fields: Readonly<Record<string, string>> = asShown,
): Promise<URL> {
  const page = await browser.get(`/oauth/authorize?${query}`);
  if (page.status !== 200) throw new Error(`the page of the request answers ${page.status}: ${page.text}`);
  const { location, text } = await browser.submit('/oauth/authorize', fields);
  if (location === null) throw new Error(`nobody is redirected: ${text}`);
  return new URL(location);
}

/** The official client's storage, and a browser in place of the person's. */
export function memoryProvider(open: (authorization: URL) => Promise<void>, redirectUri = callback) {
  // biome-ignore lint/suspicious/noExplicitAny: the official clients have types of their own for the same data
  const kept: { information?: any; tokens?: any; discovery?: any; verifier?: string } = {};
  const provider = {
    kept,
    redirectUrl: redirectUri,
    clientMetadata: {
      client_name: 'Official client',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    state: () => 'the-state',
    clientInformation: () => kept.information,
    saveClientInformation(information: unknown) {
      kept.information = information;
    },
    tokens: () => kept.tokens,
    saveTokens(tokens: unknown) {
      kept.tokens = tokens;
    },
    discoveryState: () => kept.discovery,
    saveDiscoveryState(discovery: unknown) {
      kept.discovery = discovery;
    },
    redirectToAuthorization: open,
    saveCodeVerifier(verifier: string) {
      kept.verifier = verifier;
    },
    codeVerifier: () => kept.verifier ?? '',
  };
  return provider as typeof provider & OAuthClientProvider;
}

/** A host that serves the metadata document of a client, on a port of its own. */
export async function serveDocument(describe: (id: string) => unknown) {
  let id = '';
  const { port, close } = await listenHttp((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(describe(id)));
  });
  id = `http://127.0.0.1:${port}/client.json`;
  return { id, host: `127.0.0.1:${port}`, close };
}
