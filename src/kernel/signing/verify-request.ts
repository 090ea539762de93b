import { algorithmOf, isSignedBy } from './check-signature.ts';
import { type Body, type Headers, hasBody, headerOf, isDigestOf, queryOf, signatureBase } from './signature-base.ts';
import { type FieldMember, readDictionary } from './structured-fields.ts';

/** A request as received, before any parsing. */
export interface ReceivedRequest {
  readonly method: string;
  /** Path and query as in the request line. */
  readonly target: string;
  readonly headers: Headers;
  readonly body: Body;
}

export interface VerifyOptions {
  /** Public keys (JWK) from the sender's profile. Invalid entries are ignored. */
  readonly keys: readonly unknown[];
  /** Our own hosts, with the port unless it is the default one. A signature for another host is not meant for us. */
  readonly authorities: readonly string[];
  readonly now: number;
  readonly maxAgeMs: number;
  /** Components that must be signed besides method, authority, path, query and body, such as `idempotency-key`. */
  readonly requires: readonly string[];
}

type SignatureRefusal =
  | 'signature_missing'
  | 'signature_invalid'
  | 'key_not_found'
  | 'digest_mismatch'
  | 'algorithm_unsupported';

export type Verified =
  | { readonly ok: true; readonly kid: string }
  | { readonly ok: false; readonly code: SignatureRefusal; readonly detail: string; readonly wasVerified?: true };

const mostHeaderCharacters = 8_192;
const mostSignatures = 4;
const mostComponents = 32;
const mostKeys = 64;

/** How far a sender's clock may be ahead. */
const clockSkewMs = 30_000;

/** Whether one of the keys signed this request, recently and for our host. Never throws. */
export async function verifyRequest(request: ReceivedRequest, options: VerifyOptions): Promise<Verified> {
  const input = headerOf(request.headers, 'signature-input');
  const given = headerOf(request.headers, 'signature');
  if (input === undefined || given === undefined) return refuse('signature_missing', 'the request is not signed');
  if (input.length > mostHeaderCharacters || given.length > mostHeaderCharacters) {
    return refuse('signature_invalid', 'the signature headers are too long');
  }
  const inputs = readDictionary(input);
  const signatures = readDictionary(given);
  if (inputs === undefined || signatures === undefined) {
    return refuse('signature_invalid', 'the signature headers are malformed or contain a duplicate name');
  }
  if (inputs.size !== signatures.size || inputs.size > mostSignatures) {
    return refuse('signature_invalid', `Signature-Input must describe each signature, at most ${mostSignatures}`);
  }

  const outcomes: Verified[] = [];
  for (const [label, described] of inputs) {
    const outcome = await verifyOne(request, options, described, signatures.get(label));
    // Verification is expensive, so a wrong signature by a known key ends the check.
    if (outcome.ok || outcome.wasVerified === true) return outcome;
    outcomes.push(outcome);
  }
  // Prefer the error about a known key: signatures by other parties' keys say nothing about the sender.
  const told = outcomes.find((outcome) => !outcome.ok && outcome.code !== 'key_not_found') ?? outcomes[0];
  return told ?? refuse('signature_missing', 'the request is not signed');
}

async function verifyOne(
  request: ReceivedRequest,
  { keys, authorities, now, maxAgeMs, requires }: VerifyOptions,
  described: FieldMember,
  signed: FieldMember | undefined,
): Promise<Verified> {
  const { parameters } = described;
  const components = namesOf(described);
  if (components === undefined)
    return refuse('signature_invalid', 'the signature must list plain components, each once');
  const signature = signed?.parameters.size === 0 ? signed.value : undefined;
  if (!(signature instanceof Uint8Array))
    return refuse('signature_invalid', 'Signature-Input describes a signature that is missing');

  const keyid = parameters.get('keyid');
  if (typeof keyid !== 'string') return refuse('signature_invalid', 'keyid is missing');
  const named = keys
    .slice(0, mostKeys)
    .filter(isFields)
    .filter((jwk) => jwk['kid'] === keyid);
  if (named.length === 0) return refuse('key_not_found', 'no key of the profile has this keyid');
  // One key per signature: otherwise a sender that lists many keys under one id would make us try them all.
  const jwk = named.find((one) => isUsable(one, parameters.get('alg')));
  if (jwk === undefined) return refuse('algorithm_unsupported', 'use ES256, ES384 or Ed25519');

  const trouble = troubleWithTime(parameters, { now, maxAgeMs }) ?? troubleWithCover(request, { components, requires });
  if (trouble !== undefined) return refuse('signature_invalid', trouble);
  if (components.includes('content-digest')) {
    const digest = headerOf(request.headers, 'content-digest') ?? '';
    const matches = digest.length <= mostHeaderCharacters && isDigestOf(digest, request.body);
    if (!matches) return refuse('digest_mismatch', 'content-digest does not match the body');
  }
  for (const authority of authorities) {
    const base = signatureBase({ ...request, authority }, components, described.text);
    if (base !== undefined && (await isSignedBy(jwk, base, signature))) return { ok: true, kid: keyid };
  }
  return {
    ok: false,
    code: 'signature_invalid',
    detail: 'the signature does not match this request',
    wasVerified: true,
  };
}

function isUsable(jwk: Readonly<Record<string, unknown>>, alg: unknown): boolean {
  const { use } = jwk;
  const algorithm = algorithmOf(jwk);
  return (
    (use === undefined || use === 'sig') && algorithm !== undefined && (alg === undefined || alg === algorithm.name)
  );
}

/** Component parameters change the meaning of a component, and no legitimate sender needs them. */
function namesOf({ value }: FieldMember): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length > mostComponents) return undefined;
  const items = value as readonly { readonly value: unknown; readonly parameters: ReadonlyMap<string, unknown> }[];
  const names = items.flatMap(({ value: name, parameters }) =>
    typeof name === 'string' && /^@?[a-z0-9-]+$/.test(name) && parameters.size === 0 ? [name] : [],
  );
  return names.length === items.length && new Set(names).size === names.length ? names : undefined;
}

function troubleWithTime(
  parameters: FieldMember['parameters'],
  { now, maxAgeMs }: { readonly now: number; readonly maxAgeMs: number },
): string | undefined {
  const created = parameters.get('created');
  const expires = parameters.get('expires');
  if (!Number.isInteger(created)) return 'created is missing';
  const ageMs = now - Number(created) * 1000;
  if (ageMs < -clockSkewMs) return 'it was created in the future';
  if (ageMs > maxAgeMs) return 'it was created too long ago';
  if (expires === undefined) return undefined;
  return Number.isInteger(expires) && Number(expires) * 1000 > now ? undefined : 'it has expired';
}

function troubleWithCover(
  { target, body }: ReceivedRequest,
  { components, requires }: { readonly components: readonly string[]; readonly requires: readonly string[] },
): string | undefined {
  if (!target.startsWith('/')) return 'the address is not a path';
  const needed = [
    '@method',
    '@authority',
    '@path',
    ...(queryOf(target) === '' ? [] : ['@query']),
    ...(hasBody(body) ? ['content-digest', 'content-type'] : []),
    ...requires,
  ];
  const missing = needed.filter((name) => !components.includes(name));
  return missing.length === 0 ? undefined : `it does not cover ${missing.join(', ')}`;
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function refuse(code: SignatureRefusal, detail: string): Verified {
  return { ok: false, code, detail };
}
