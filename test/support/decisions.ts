import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { inHex, leafHash, treeOf } from '../../src/policies/decisions/merkle.ts';
import { type ChainEntry, type ChainProof, withChecksum } from '../../src/policies/decisions/prove.ts';
import {
  canonicalJson,
  type DecisionRecord,
  digest,
  firstHead,
  recordHash,
} from '../../src/policies/decisions/record.ts';

/** As GET /account/decisions/export answers. */
export type ExportedChain = ChainProof & { readonly entries: ChainEntry[] };

interface Verified {
  readonly from: number;
  readonly to: number;
  readonly sealedTo: number;
}

const script = new URL('../../scripts/verify-decisions.mjs', import.meta.url);
export const decisionsScript = script;
export const { verifyDecisions, verifyEntry } = (await import(script.href)) as {
  /** Throws when anything does not hold. */
  verifyDecisions: (file: unknown, published?: unknown) => Verified;
  /** Returns the head after the entry. */
  verifyEntry: (entry: unknown, after: { readonly seq: number; readonly head: Buffer }) => Buffer;
};

/** As the database continues a chain (migration 031). */
export const nextHead = (head: Buffer, hashed: Buffer) => digest(Buffer.of(3), head, hashed);

const account = 'PA-00000001';

/** A record of an allowed transfer, with something in every field. */
function makeRecord(seq: number): DecisionRecord {
  const key = 'key_01kp3v2m8rfk2s6y0e6v9q4w1x';
  return {
    account,
    amount: `${seq}.25`,
    approval: null,
    asset: 'USDC',
    at: new Date(1_750_000_000_000 + seq).toISOString(),
    budgets: [{ asset: 'USDC', id: 'día', key, remainingAfter: '1', remainingBefore: '2', taken: '1' }],
    code: null,
    count: '1',
    counterparty: 'PA-00000002',
    id: `dec_${randomBytes(13).toString('hex')}`,
    key,
    keys: [key, 'key_root'],
    operation: 'transfer',
    outcome: 'allow',
    policies: [{ key, version: randomBytes(32).toString('hex') }],
    posting: `trf_${randomBytes(13).toString('hex')}`,
    rule: { index: '3', key },
    seq: String(seq),
  };
}

/** A chain of made-up records, and a root that a new key has signed over it and the heads of others. */
export function makeExport(count: number, others = 4): ExportedChain {
  let head: Buffer = firstHead;
  const entries = Array.from({ length: count }, (_, index) => {
    const record = makeRecord(index + 1);
    head = nextHead(head, recordHash(canonicalJson(record)));
    return { record, head: head.toString('hex') };
  });
  const salt = randomBytes(32);
  const strangers: Buffer[] = Array.from({ length: others }, () => randomBytes(32));
  const place = Math.floor(others / 2);
  const leaves: Buffer[] = strangers.toSpliced(place, 0, leafHash({ account, salt, seq: BigInt(count), head }));
  const tree = treeOf(leaves);
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const root = {
    at: '2026-01-15T10:17:00.000Z',
    keyId: 'the-key',
    number: '2',
    previousRoot: '00'.repeat(32),
    reservesRoot: null,
    reservesSnapshot: null,
    root: tree.root().toString('hex'),
    size: String(leaves.length),
  };
  const x = publicKey.export({ format: 'jwk' }).x as string;
  const beside = {
    account,
    keys: [
      {
        id: 'the-key',
        algorithm: 'Ed25519' as const,
        publicKey: Buffer.from(x, 'base64url').toString('hex'),
        from: '2026-01-01T00:00:00.000Z',
        until: null,
      },
    ],
    previous: { seq: '0', head: firstHead.toString('hex') },
    seal: {
      seq: String(count),
      place: String(place),
      salt: salt.toString('hex'),
      path: inHex(tree.path(place)),
      root,
      signature: sign(null, Buffer.from(canonicalJson(root)), privateKey).toString('hex'),
      anchor: { chain: 'MATIC' as const, txHash: `0x${'5'.repeat(64)}`, blockNumber: '81000000' },
    },
  };
  return { ...withChecksum(beside), entries };
}

/** Changed beside its entries, with the checksum of what it now says: what a forger would write. */
export function forged(
  { entries, checksum: _, ...beside }: ExportedChain,
  changed: Partial<ChainProof>,
): ExportedChain {
  return { ...withChecksum({ ...beside, ...changed }), entries };
}

/** The text with one bit of its UTF-8 bytes changed. */
export function flipBit(text: string, bit: number): string {
  const bytes = Buffer.from(text);
  bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return bytes.toString('latin1') === Buffer.from(bytes.toString('utf8')).toString('latin1')
    ? bytes.toString('utf8')
    : 'not even text';
}
