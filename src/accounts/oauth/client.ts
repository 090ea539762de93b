import { z } from 'zod';
import { describeIssue } from '../../kernel/http/describe-issue.ts';
import { parseJsonBody } from '../../kernel/http/parse-body.ts';
import { type Outgoing, OutgoingError } from '../../kernel/outgoing/outgoing.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { parseUrl } from '../../kernel/text/parse-url.ts';
import { visibleText } from '../fields.ts';
import { OAuthError } from './oauth-error.ts';
import { describeRedirect, explainRedirectUri } from './redirect-uri.ts';
import { openSignedText, signText } from './signed-text.ts';

/** What may be asked for: tools over MCP, or, for our own command alone, a key of the API. */
export type Resource = 'mcp' | 'api';

export interface Client {
  readonly id: string;
  /** What it calls itself. */
  readonly name: string;
  readonly redirectUris: readonly string[];
  /** The host that has told us all this. Undefined where the client has registered itself, which anybody can. */
  readonly knownBy: string | undefined;
  readonly resource: Resource;
}

const redirectUris = z
  .array(
    z.string().superRefine((text, context) => {
      const why = explainRedirectUri(text);
      if (why !== undefined) context.addIssue(why);
    }),
  )
  .min(1)
  .max(10);

/** Null is how some clients leave a member out. */
const metadata = z.object({ client_name: visibleText(100).nullish(), redirect_uris: redirectUris });

export type ClientMetadata = z.output<typeof metadata>;

/** Members that we do not know are ignored, as RFC 7591 demands. */
export function readMetadata(given: unknown): ClientMetadata {
  const read = metadata.safeParse(given, { error: describeIssue });
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const path = issue?.path.join('.') ?? '';
  const code = path.startsWith('redirect_uris') ? 'invalid_redirect_uri' : 'invalid_client_metadata';
  throw new OAuthError(code, path === '' ? 'The metadata must be a JSON object.' : `${path} ${issue?.message}.`);
}

const registeredPrefix = 'pa_client_';

/** An id is in URLs. */
const longestRegistered = 2_000;

/**
 * The id of a client that registers itself holds what it has told us. So strangers can register without end, and nothing is stored.
 */
export function registerClient(secrets: Secrets, { client_name, redirect_uris }: ClientMetadata): Client {
  const text = JSON.stringify([client_name ?? null, ...redirect_uris]);
  const id = signText(secrets, registeredPrefix, Buffer.from(text).toString('base64url'));
  if (id.length > longestRegistered)
    throw new OAuthError('invalid_client_metadata', 'The name and the redirect URIs are too long together.');
  return registeredClient(id, [client_name ?? null, ...redirect_uris]);
}

function registeredClient(id: string, [name, ...uris]: readonly (string | null)[]): Client {
  const redirectUris = uris as string[];
  return {
    id,
    name: name ?? `A client on ${describeRedirect(redirectUris[0] as string)}`,
    redirectUris,
    knownBy: undefined,
    resource: 'mcp',
  };
}

/** `paywright login`. */
const ownCommand: Client = {
  id: 'paywright',
  name: 'The paywright command',
  redirectUris: ['http://127.0.0.1/callback'],
  knownBy: undefined,
  resource: 'api',
};

export interface ClientParts {
  readonly secrets: Secrets;
  readonly outgoing: Outgoing;
}

export async function findClient(parts: ClientParts, id: string): Promise<Client> {
  if (id === ownCommand.id) return ownCommand;
  if (/^https?:\/\//i.test(id)) return readDocument(parts.outgoing, id);
  const text = openSignedText(parts.secrets, registeredPrefix, id);
  if (text !== undefined) return registeredClient(id, JSON.parse(Buffer.from(text, 'base64url').toString()));
  throw new OAuthError(
    'invalid_client',
    'The client is unknown. It registers at the registration endpoint, or its id is the https address of its metadata document.',
  );
}

const longestDocument = 16 * 1024;

const document = z.object({
  client_id: z.string(),
  token_endpoint_auth_method: z.literal('none', { error: 'must be none' }).optional(),
  client_secret: z.never({ error: 'must not be public' }).optional(),
});

/** A client-id metadata document: the id of the client is its address, so its host vouches for it. */
async function readDocument(outgoing: Outgoing, id: string): Promise<Client> {
  const url = parseUrl(id);
  if (url === undefined || url.href !== id || url.pathname === '/' || url.hash !== '')
    throw notReadable('The address must have a path and no fragment, and be written as browsers write it.');
  const given = await fetchDocument(outgoing, id);
  const read = document.safeParse(given, { error: describeIssue });
  if (!read.success) {
    const [issue] = read.error.issues;
    throw notReadable(`Its ${issue?.path.join('.') || 'content'} ${issue?.message}.`);
  }
  if (read.data.client_id !== id) throw notReadable('Its client_id is not its own address.');
  const { client_name, redirect_uris } = readMetadata(given);
  const { host } = url;
  return { id, name: client_name ?? host, redirectUris: redirect_uris, knownBy: host, resource: 'mcp' };
}

async function fetchDocument(outgoing: Outgoing, url: string): Promise<unknown> {
  try {
    const { status, body } = await outgoing.request({
      method: 'GET',
      url,
      headers: { accept: 'application/json' },
      maxBodyBytes: longestDocument,
      timeoutMs: 5_000,
    });
    if (status !== 200) throw notReadable(`Its host answers with status ${status}.`);
    return parseJsonBody(body);
  } catch (error) {
    if (error instanceof OAuthError) throw error;
    throw notReadable(error instanceof OutgoingError ? error.message : 'It is not JSON that we accept.');
  }
}

function notReadable(why: string): OAuthError {
  return new OAuthError('invalid_client', `The metadata document of the client cannot be used. ${why}`);
}
