import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { z } from 'zod';
import type { Clock } from '../../kernel/clock.ts';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { isChallenge, newChallenge, spendChallenge } from './challenge.ts';
import { factorErrors } from './errors.ts';

export interface PasskeyParts {
  readonly secrets: Secrets;
  readonly clock: Clock;
}

/** The website as the browser knows it. A passkey belongs to the host. */
export interface Site {
  readonly origin: string;
  readonly host: string;
}

/** What the browser was asked (`challengeFor`), and what it answered: JSON of WebAuthn, as it came. */
export interface PasskeyAnswer {
  readonly text: string;
  readonly site: Site;
  /** The session or the sign-in that asked. */
  readonly holder: string;
}

/** The library loads a hundred files, so it is loaded with the first passkey, not at start. */
const library = () => import('@simplewebauthn/server');

const timeoutMs = 5 * 60_000;

/** Options of `navigator.credentials.get`, in JSON. With no passkeys named, the browser offers all that it has for the site. */
export function requestOptions(
  parts: PasskeyParts,
  { site, holder }: Omit<PasskeyAnswer, 'text'>,
  passkeys: readonly Pick<StoredPasskey, 'credentialId' | 'transports'>[] = [],
): string {
  return JSON.stringify({
    challenge: newChallenge(parts, holder),
    rpId: site.host,
    allowCredentials: passkeys.map(named),
    userVerification: 'required',
    timeout: timeoutMs,
  });
}

interface PasskeyOwner {
  readonly handle: string;
  readonly email: string;
  readonly name: string;
}

/** ES256, EdDSA and RS256: together they are what authenticators know. */
const algorithms = [-8, -7, -257];

/** Options of `navigator.credentials.create`, in JSON. A passkey verifies its user and can be used without a name. */
export function creationOptions(
  parts: PasskeyParts,
  { site, holder }: Omit<PasskeyAnswer, 'text'>,
  { handle, email, name }: PasskeyOwner,
  known: readonly Pick<StoredPasskey, 'credentialId' | 'transports'>[],
): string {
  return JSON.stringify({
    challenge: newChallenge(parts, holder),
    rp: { id: site.host, name: 'Paywright' },
    user: { id: Buffer.from(handle).toString('base64url'), name: email, displayName: name },
    pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
    excludeCredentials: known.map(named),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
    timeout: timeoutMs,
  });
}

function named({ credentialId, transports }: Pick<StoredPasskey, 'credentialId' | 'transports'>) {
  return { id: credentialId, type: 'public-key', transports };
}

export interface StoredPasskey {
  readonly id: string;
  readonly accountId: bigint;
  readonly credentialId: string;
  readonly publicKey: Buffer;
  readonly counter: bigint;
  readonly transports: AuthenticatorTransport[];
}

export interface CheckedPasskey {
  readonly id: string;
  readonly accountId: bigint;
  readonly challenge: string;
  readonly counter: { readonly before: bigint; readonly now: number };
}

/**
 * Checks the signature of a stored passkey whose user was verified. Nothing is used up yet: `spendPasskey` does so, in the transaction of
 * what the passkey allows.
 */
export async function checkPasskey(
  db: Queryable,
  parts: PasskeyParts,
  { text, site, holder }: PasskeyAnswer,
): Promise<CheckedPasskey> {
  const { response, challenge } = readAnswer<AuthenticationResponseJSON>(parts, { text, holder });
  const stored = await findPasskey(db, response.id);
  if (stored === undefined) throw factorErrors.passkey_refused();
  const { id, accountId, credentialId, publicKey, counter, transports } = stored;
  const verified = await orRefuse(async () => {
    const { verifyAuthenticationResponse } = await library();
    return verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: site.origin,
      expectedRPID: site.host,
      credential: { id: credentialId, publicKey: new Uint8Array(publicKey), counter: Number(counter), transports },
      requireUserVerification: true,
    });
  });
  if (!verified.verified) throw factorErrors.passkey_refused();
  return { id, accountId, challenge, counter: { before: counter, now: verified.authenticationInfo.newCounter } };
}

/** Uses the challenge up. A passkey that was removed or used meanwhile is refused. */
export async function spendPasskey(
  tx: Transaction,
  { id, accountId, challenge, counter }: CheckedPasskey,
): Promise<void> {
  const { rowCount } = await tx.query(
    `UPDATE passkeys SET counter = $4, last_used_at = clock_timestamp()
      WHERE id = $1 AND account_id = $2 AND counter = $3`,
    [id, accountId, counter.before, counter.now],
  );
  if (rowCount !== 1 || !(await spendChallenge(tx, challenge))) throw factorErrors.passkey_refused();
}

export interface NewPasskey extends Pick<StoredPasskey, 'credentialId' | 'publicKey' | 'transports'> {
  readonly counter: number;
  readonly challenge: string;
}

/** Checks the answer to `creationOptions`. The challenge is used up by whoever stores the passkey. */
export async function checkNewPasskey(parts: PasskeyParts, { text, site, holder }: PasskeyAnswer): Promise<NewPasskey> {
  const { response, challenge } = readAnswer<RegistrationResponseJSON>(parts, { text, holder });
  const verified = await orRefuse(async () => {
    const { verifyRegistrationResponse } = await library();
    return verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: site.origin,
      expectedRPID: site.host,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    });
  });
  if (!verified.verified) throw factorErrors.passkey_refused();
  const { id, publicKey, counter, transports } = verified.registrationInfo.credential;
  if (id.length > longestId) throw factorErrors.passkey_refused();
  // As the browser has sent it.
  const given: unknown = transports;
  const known = knownTransports.filter((one) => Array.isArray(given) && given.includes(one));
  return { credentialId: id, publicKey: Buffer.from(publicKey), counter, transports: known, challenge };
}

/** WebAuthn allows 1,023 bytes. */
const longestId = 1_364;

const knownTransports: readonly AuthenticatorTransport[] = ['ble', 'hybrid', 'internal', 'nfc', 'usb'];

interface Answer<Response> {
  readonly response: Response;
  /** One of ours, for this holder. */
  readonly challenge: string;
}

const answer = z.object({ id: z.string(), response: z.object({ clientDataJSON: z.string() }) });
const clientData = z.object({ challenge: z.string() });

/** Reads what is needed here. The library checks the rest, and throws where something is missing. */
function readAnswer<Response>(parts: PasskeyParts, { text, holder }: Omit<PasskeyAnswer, 'site'>): Answer<Response> {
  const read = answer.safeParse(parseJson(text));
  if (!read.success) throw factorErrors.passkey_refused();
  const data = clientData.safeParse(parseJson(Buffer.from(read.data.response.clientDataJSON, 'base64url').toString()));
  if (!data.success || !isChallenge(parts, holder, data.data.challenge)) throw factorErrors.passkey_refused();
  return { response: parseJson(text) as Response, challenge: data.data.challenge };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whatever the library finds wrong is the answer's fault. */
async function orRefuse<Result>(check: () => Promise<Result>): Promise<Result> {
  try {
    return await check();
  } catch {
    throw factorErrors.passkey_refused();
  }
}

async function findPasskey(db: Queryable, credentialId: string): Promise<StoredPasskey | undefined> {
  if (credentialId.length > longestId || !/^[\w-]+$/.test(credentialId)) return undefined;
  const { rows } = await db.query<StoredPasskey>(
    'SELECT id, account_id, credential_id, public_key, counter, transports FROM passkeys WHERE credential_id = $1',
    [credentialId],
  );
  return rows[0];
}
