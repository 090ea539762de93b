import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** What a browser and its authenticator answer. A test may spoil any of it. */
interface Spoiled {
  readonly origin?: string;
  readonly host?: string;
  /** Without it the user was present, and nobody checked who it is. */
  readonly isVerified?: boolean;
  readonly challenge?: string;
}

export interface Authenticator {
  /** Answers the options of `navigator.credentials.create` that a page holds. */
  create(page: string, spoiled?: Spoiled): string;
  /** Answers those of `navigator.credentials.get`. */
  get(page: string, spoiled?: Spoiled): string;
}

interface Options {
  readonly challenge: string;
  readonly rp?: { readonly id: string };
  readonly rpId?: string;
}

/** An authenticator in software, as WebAuthn describes it, with one passkey (ES256). */
export function createAuthenticator(origin: string): Authenticator {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const id = randomBytes(20);
  let counter = 0;

  const begin = (type: 'create' | 'get', page: string, spoiled: Spoiled) => {
    const { challenge, rp, rpId } = readOptions(page, type);
    const clientData = Buffer.from(
      JSON.stringify({
        type: `webauthn.${type}`,
        challenge: spoiled.challenge ?? challenge,
        origin: spoiled.origin ?? origin,
        crossOrigin: false,
      }),
    );
    const host = spoiled.host ?? rp?.id ?? rpId ?? '';
    const flags = 0x01 | (spoiled.isVerified === false ? 0 : 0x04) | (type === 'create' ? 0x40 : 0);
    counter++;
    const head = Buffer.alloc(5);
    head.writeUInt8(flags, 0);
    head.writeUInt32BE(counter, 1);
    return { clientData, authData: Buffer.concat([sha256(Buffer.from(host)), head]) };
  };
  const answer = (clientData: Buffer, response: object) =>
    JSON.stringify({
      id: id.toString('base64url'),
      rawId: id.toString('base64url'),
      type: 'public-key',
      clientExtensionResults: {},
      response: { clientDataJSON: clientData.toString('base64url'), ...response },
    });

  return {
    create(page, spoiled = {}) {
      const { clientData, authData } = begin('create', page, spoiled);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(id.length);
      const attested = Buffer.concat([authData, Buffer.alloc(16), length, id, coseKey(publicKey)]);
      const object = cbor(
        new Map<unknown, unknown>([
          ['fmt', 'none'],
          ['attStmt', new Map()],
          ['authData', attested],
        ]),
      );
      return answer(clientData, { attestationObject: object.toString('base64url'), transports: ['internal'] });
    },
    get(page, spoiled = {}) {
      const { clientData, authData } = begin('get', page, spoiled);
      const signature = sign('sha256', Buffer.concat([authData, sha256(clientData)]), privateKey);
      return answer(clientData, {
        authenticatorData: authData.toString('base64url'),
        signature: signature.toString('base64url'),
      });
    },
  };
}

/** From the form of the page, as its script reads them. */
function readOptions(page: string, type: 'create' | 'get'): Options {
  const [, options] = new RegExp(`data-passkey="([^"]+)" data-what="${type}"`).exec(page) ?? [];
  if (options === undefined) throw new Error(`the page asks for no passkey to ${type}`);
  return JSON.parse(options.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')) as Options;
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}

function coseKey(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' });
  return cbor(
    new Map<unknown, unknown>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x, 'base64url')],
      [-3, Buffer.from(y, 'base64url')],
    ]),
  );
}

/** As much of RFC 8949 as an authenticator needs. */
function cbor(value: unknown): Buffer {
  if (typeof value === 'number') return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value);
  if (Buffer.isBuffer(value)) return Buffer.concat([cborHead(2, value.length), value]);
  if (typeof value === 'string') return Buffer.concat([cborHead(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Map)
    return Buffer.concat([cborHead(5, value.size), ...[...value].flatMap(([name, one]) => [cbor(name), cbor(one)])]);
  throw new Error('an authenticator sends no such thing');
}

function cborHead(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length]);
  if (length < 256) return Buffer.from([(major << 5) | 24, length]);
  return Buffer.from([(major << 5) | 25, length >> 8, length & 255]);
}
