import { algorithmOf, isSignedBy } from './check-signature.ts';
import { type Body, hasBody, isDigestOf } from './content-digest.ts';
import { type Headers, headerOf, queryOf, signatureBase } from './signature-base.ts';
import { type FieldMember, readDictionary } from './structured-fields.ts';

/** A request as it came, before anything was made of its bytes. */
export interface ReceivedRequest {
  readonly method: string;
  /** Path and query as they stood in the first line. */
  readonly target: string;
  readonly headers: Headers;
  readonly body: Body;
}

export interface VerifyOptions {
  /** Public keys as the sender's profile lists them (JWK). Whatever else stands there is passed over. */
  readonly keys: readonly unknown[];
  /** By which hosts (with the port, unless it is the usual one) we are called. A signature for another is not meant for us. */
  readonly authorities: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly maxAgeMs: number;
  /** What must be signed besides method, authority, path, query and body, such as `idempotency-key`. */
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

/** How far a sender's clock may be ahead of ours. */
const clockSkewMs = 30_000;

/** Whether one of the keys has signed this very request, just now and for us. Whatever it is given, it answers. */
export async function verifyRequest(request: ReceivedRequest, options: VerifyOptions): Promise<Verified> {
  const input = headerOf(request.headers, 'signature-input');
  const given = headerOf(request.headers, 'signature');
  if (input === undefined || given === undefined) return refuse('signature_missing', 'the request is not signed');
  if (input.length > mostHeaderCharacters || given.length > mostHeaderCharacters) {
    return refuse('signature_invalid', 'the headers of the signature are too long');
  }
  const inputs = readDictionary(input);
  const signatures = readDictionary(given);
  if (inputs === undefined || signatures === undefined) {
    return refuse('signature_invalid', 'the headers of the signature cannot be read, or name something twice');
  }
  if (inputs.size !== signatures.size || inputs.size > mostSignatures) {
    return refuse('signature_invalid', `there must be a description for each signature, and ${mostSignatures} at most`);
  }

  const outcomes: Verified[] = [];
  for (const [label, described] of inputs) {
    const outcome = await verifyOne(request, options, described, signatures.get(label));
    // Verifying is what costs time. Whoever signs wrongly with one known key is not given another try with the next.
    if (outcome.ok || outcome.wasVerified === true) return outcome;
    outcomes.push(outcome);
  }
  // Somebody else's signature says nothing about ours: what is wrong with a key that we know is worth more to the sender.
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
  if (components === undefined) return refuse('signature_invalid', 'it must list plain components, each once');
  const signature = signed?.parameters.size === 0 ? signed.value : undefined;
  if (!(signature instanceof Uint8Array)) return refuse('signature_invalid', 'what was described has no signature');

  const keyid = parameters.get('keyid');
  if (typeof keyid !== 'string') return refuse('signature_invalid', 'keyid is missing');
  const named = keys
    .slice(0, mostKeys)
    .filter(isFields)
    .filter((jwk) => jwk['kid'] === keyid);
  if (named.length === 0) return refuse('key_not_found', 'no key of the profile has this keyid');
  // One for each signature: whoever lists many keys under one name would have us try them all.
  const jwk = named.find((one) => isUsable(one, parameters.get('alg')));
  if (jwk === undefined) return refuse('algorithm_unsupported', 'use ES256, ES384 or Ed25519');

  const trouble = troubleWithTime(parameters, { now, maxAgeMs }) ?? troubleWithCover(request, { components, requires });
  if (trouble !== undefined) return refuse('signature_invalid', trouble);
  if (components.includes('content-digest')) {
    const digest = headerOf(request.headers, 'content-digest') ?? '';
    const matches = digest.length <= mostHeaderCharacters && isDigestOf(digest, request.body);
    if (!matches) return refuse('digest_mismatch', 'content-digest is not that of the body');
  }
  for (const authority of authorities) {
    const base = signatureBase({ ...request, authority }, components, described.text);
    if (base !== undefined && (await isSignedBy(jwk, base, signature))) return { ok: true, kid: keyid };
  }
  return {
    ok: false,
    code: 'signature_invalid',
    detail: 'the signature is not that of this request',
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

/** Parameters of a component change what it means; nobody who signs for us needs them. */
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
