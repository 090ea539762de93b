import { scopes as allScopes, type Scope } from '../../kernel/http/define-route.ts';
import { type Client, type ClientParts, findClient, type Resource } from './client.ts';
import { OAuthError } from './oauth-error.ts';
import { isRegistered } from './redirect-uri.ts';

/** What a client asks the owner for. */
export interface AuthorizationRequest {
  readonly client: Client;
  readonly redirectUri: string;
  readonly state: string | undefined;
  readonly scopes: readonly Scope[];
  /** Of the verifier that only the client knows (PKCE). */
  readonly challenge: string;
  readonly resource: Resource;
}

/** Scopes that a client may ask for, from the least. */
export const scopesOf: Readonly<Record<Resource, readonly Scope[]>> = {
  mcp: ['read', 'pay', 'withdraw'],
  api: allScopes,
};

const usualScopes: readonly Scope[] = ['read', 'pay'];

export interface RequestParts extends ClientParts {
  readonly publicUrl: () => string;
}

/** A request that its client must mend. The owner decides whether to go back there: nobody is redirected by a broken request. */
export class BadAuthorizationRequest extends Error {
  override readonly name = 'BadAuthorizationRequest';
  /** The redirect URI with the error. Undefined where the client or its redirect URI is not known for sure. */
  readonly back: string | undefined;

  constructor(message: string, back?: string) {
    super(message);
    this.back = back;
  }
}

export async function readAuthorizationRequest(
  parts: RequestParts,
  given: Readonly<Record<string, string>>,
): Promise<AuthorizationRequest> {
  const client = await findOrExplain(parts, given['client_id']);
  const redirectUri = given['redirect_uri'] ?? onlyOne(client.redirectUris);
  if (redirectUri === undefined || !isRegistered(client.redirectUris, redirectUri))
    throw new BadAuthorizationRequest(
      'The client asks to be answered at an address that it has not registered (redirect_uri).',
    );
  const { state } = given;
  try {
    return { client, redirectUri, state, ...readWish(client, given, parts.publicUrl()) };
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    const answer = { error: error.code, error_description: error.message };
    throw new BadAuthorizationRequest(error.message, answerAt({ redirectUri, state }, parts.publicUrl(), answer));
  }
}

async function findOrExplain(parts: ClientParts, id: string | undefined): Promise<Client> {
  if (id === undefined || id === '') throw new BadAuthorizationRequest('The client did not say who it is (client_id).');
  try {
    return await findClient(parts, id);
  } catch (error) {
    if (error instanceof OAuthError) throw new BadAuthorizationRequest(error.message);
    throw error;
  }
}

function onlyOne(uris: readonly string[]): string | undefined {
  return uris.length === 1 ? uris[0] : undefined;
}

function readWish(client: Client, given: Readonly<Record<string, string>>, publicUrl: string) {
  if (given['response_type'] !== 'code')
    throw new OAuthError('unsupported_response_type', 'The response_type must be code.');
  const { code_challenge: challenge = '', code_challenge_method: method } = given;
  if (method !== 'S256' || !/^[\w-]{43}$/.test(challenge))
    throw new OAuthError('invalid_request', 'PKCE is needed: a code_challenge with the code_challenge_method S256.');
  const resource = readResource(given['resource'], publicUrl) ?? client.resource;
  if (resource !== client.resource) throw wrongTarget(publicUrl);
  return { challenge, resource, scopes: readScopes(given['scope'], scopesOf[resource]) };
}

/** The resource of an identifier (RFC 8707). Undefined where none was given. */
export function readResource(given: string | undefined, publicUrl: string): Resource | undefined {
  if (given === undefined || given === '') return undefined;
  const found = (['mcp', 'api'] as const).find((name) => given.replace(/\/$/, '') === `${publicUrl}/${name}`);
  if (found === undefined) throw wrongTarget(publicUrl);
  return found;
}

function wrongTarget(publicUrl: string): OAuthError {
  return new OAuthError('invalid_target', `Tokens are for the resource ${publicUrl}/mcp only.`);
}

/** Scopes that we do not know, such as offline_access, are ignored where others are known. */
function readScopes(given: string | undefined, known: readonly Scope[]): readonly Scope[] {
  const names = (given ?? '').split(' ').filter((name) => name !== '');
  if (names.length === 0) return usualScopes;
  const scopes = known.filter((scope) => names.includes(scope));
  if (scopes.length > 0) return scopes;
  throw new OAuthError('invalid_scope', `The scopes are ${known.join(', ')}.`);
}

/** The redirect URI with the answer, and with our name, so that a client of several servers cannot mix them up (RFC 9207). */
export function answerAt(
  { redirectUri, state }: Pick<AuthorizationRequest, 'redirectUri' | 'state'>,
  publicUrl: string,
  answer: Readonly<Record<string, string>>,
): string {
  const query = new URLSearchParams({ ...answer, ...(state !== undefined && { state }), iss: publicUrl });
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${query}`;
}
