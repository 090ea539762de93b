import { generateKeyPairSync, sign } from 'node:crypto';

/** A certificate that vouches for itself, for the names given, and its key. For a server on this machine and an hour. */
export function createCertificate(names: readonly string[]): { readonly cert: string; readonly key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const now = Date.now();
  const issuer = sequence(set(sequence(commonName, tagged(0x0c, Buffer.from('paywright test')))));
  const toBeSigned = sequence(
    tagged(0xa0, integer(2)),
    integer(now),
    sequence(ecdsaWithSha256),
    issuer,
    sequence(time(now - 3_600_000), time(now + 3_600_000)),
    issuer,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(sequence(alternativeNames, tagged(0x04, sequence(...names.map(dnsName)))))),
  );
  const signature = sign('sha256', toBeSigned, privateKey);
  const der = sequence(toBeSigned, sequence(ecdsaWithSha256), tagged(0x03, Buffer.concat([Buffer.of(0), signature])));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    cert: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

const ecdsaWithSha256 = Buffer.from('06082a8648ce3d040302', 'hex');
const commonName = Buffer.from('0603550403', 'hex');
const alternativeNames = Buffer.from('0603551d11', 'hex');

function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const size = content.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.of(tag, ...length), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, ...parts);
}

function set(...parts: readonly Buffer[]): Buffer {
  return tagged(0x31, ...parts);
}

function integer(value: number): Buffer {
  const hex = value.toString(16);
  const bytes = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
  return tagged(0x02, (bytes[0] ?? 0) > 127 ? Buffer.concat([Buffer.of(0), bytes]) : bytes);
}

function time(at: number): Buffer {
  const digits = new Date(at).toISOString().replace(/[-:T]|\.\d+/g, '');
  return tagged(0x17, Buffer.from(digits.slice(2)));
}

function dnsName(name: string): Buffer {
  return tagged(0x82, Buffer.from(name));
}
