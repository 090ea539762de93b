import type { Queryable } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { fromTypeId } from '../../kernel/ids/typeid.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { decisionErrors } from './errors.ts';
import { inHex } from './merkle.ts';
import { readableKeys } from './read-decisions.ts';
import { canonicalJson, type DecisionRecord, digest, firstHead, recordHash } from './record.ts';
import type { SignedRoot } from './seal-root.ts';
import { listSigningKeys, type PublishedKey } from './signing-keys.ts';

/** A record, or only its hash where the reader may not see it, and the head of the chain after it. */
export interface ChainEntry {
  readonly record?: DecisionRecord;
  readonly hash?: string;
  readonly head: string;
}

export interface Anchor {
  readonly chain: ChainId;
  readonly txHash: string;
  readonly blockNumber: string;
}

/** How a signed root covers an account's chain up to a record. Bytes are in hex. */
export interface Seal {
  readonly seq: string;
  /** The leaf's place in the tree. An account keeps it. */
  readonly place: string;
  readonly salt: string;
  readonly path: string[];
  readonly root: SignedRoot;
  readonly signature: string;
  readonly anchor: Anchor | null;
}

/** Part of an account's chain, after `previous`. scripts/verify-decisions.mjs verifies it. */
export interface ChainProof {
  /** SHA-256 of the canonical JSON of all other members but the entries, which are hashed themselves. */
  readonly checksum: string;
  readonly account: string;
  readonly keys: PublishedKey[];
  readonly previous: { readonly seq: string; readonly head: string };
  readonly seal: Seal | null;
}

/** With the hashes of the records that follow it under the same root. */
export async function proveDecision(
  db: Queryable,
  caller: Caller,
  { id, retryAfter }: { readonly id: string; readonly retryAfter: () => number },
): Promise<ChainProof & { readonly entries: ChainEntry[] }> {
  const seq = await findChained(db, caller, id, retryAfter);
  const seal = await findSeal(db, caller, seq);
  if (seal === undefined) throw notSealed(retryAfter());
  const { rows } = await db.query<ChainRow>(
    `SELECT seq, record, head FROM policy_decisions WHERE account_id = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq`,
    [caller.accountId, seq - 1n, BigInt(seal.seq)],
  );
  const before = rows.find((row) => row.seq === seq - 1n);
  const entries = rows.filter((row) => row.seq >= seq).map((row) => toEntry(row, row.seq === seq));
  return { ...(await headOf(db, caller, { before, seal })), entries };
}

interface ChainRow {
  readonly seq: bigint;
  readonly record: string;
  readonly head: Buffer;
}

async function findChained(db: Queryable, caller: Caller, id: string, retryAfter: () => number): Promise<bigint> {
  const uuid = fromTypeId('dec', id);
  const keys = await readableKeys(db, caller);
  const { rows } = await db.query<{ seq: bigint | null }>(
    `SELECT seq FROM policy_decisions WHERE account_id = $1 AND id = $2 AND ($3::text[] IS NULL OR key_id = ANY ($3))
     UNION ALL
     SELECT NULL FROM decisions_waiting WHERE account_id = $1 AND id = $2 AND ($3::text[] IS NULL OR key_id = ANY ($3))`,
    [caller.accountId, uuid ?? null, keys],
  );
  const [found] = rows;
  if (found === undefined) throw decisionErrors.decision_not_found();
  if (found.seq === null) throw notSealed(retryAfter());
  return found.seq;
}

function notSealed(seconds: number): Error {
  return decisionErrors.decision_not_sealed(undefined, { headers: { 'Retry-After': String(seconds) } });
}

const entriesAtOnce = 1_000;

/** The whole chain of the account, with the last root that covers it. The entries come in parts. */
export async function exportChain(db: Queryable, caller: Caller) {
  const readable = await readableKeys(db, caller);
  const mayRead = (keyId: string) => readable === null || readable.includes(keyId);
  async function* entries(): AsyncGenerator<ChainEntry[]> {
    for (let after = 0n; ; ) {
      const { rows } = await db.query<ChainRow & { keyId: string }>(
        `SELECT seq, key_id, record, head FROM policy_decisions WHERE account_id = $1 AND seq > $2
          ORDER BY seq LIMIT ${entriesAtOnce}`,
        [caller.accountId, after],
      );
      yield rows.map((row) => toEntry(row, mayRead(row.keyId)));
      if (rows.length < entriesAtOnce) return;
      after = rows.at(-1)?.seq ?? after;
    }
  }
  return { head: await headOf(db, caller, { before: undefined, seal: await findSeal(db, caller) }), entries };
}

function toEntry({ record, head }: ChainRow, isShown: boolean): ChainEntry {
  const end = { head: head.toString('hex') };
  if (isShown) return { record: JSON.parse(record) as DecisionRecord, ...end };
  return { hash: recordHash(record).toString('hex'), ...end };
}

async function headOf(
  db: Queryable,
  { handle }: Caller,
  { before, seal }: { readonly before: ChainRow | undefined; readonly seal: Seal | undefined },
): Promise<ChainProof> {
  return withChecksum({
    account: handle,
    keys: await listSigningKeys(db),
    previous: { seq: String(before?.seq ?? 0n), head: (before?.head ?? firstHead).toString('hex') },
    seal: seal ?? null,
  });
}

/** Of what is signed a change is found anyway. Keys and anchors are not signed. */
export function withChecksum(beside: Omit<ChainProof, 'checksum'>): ChainProof {
  return { checksum: digest(Buffer.from(canonicalJson(beside))).toString('hex'), ...beside };
}

interface SealRow {
  readonly seq: bigint;
  readonly place: bigint;
  readonly salt: Buffer;
  readonly path: Buffer;
  readonly signed: string;
  readonly signature: Buffer;
  readonly chain: ChainId | null;
  readonly txHash: string | null;
  readonly blockNumber: bigint | null;
}

/** The first that covers a record, or the last of all. */
async function findSeal(db: Queryable, { accountId }: Caller, covering?: bigint): Promise<Seal | undefined> {
  const { rows } = await db.query<SealRow>(
    `SELECT s.seq, s.place, s.salt, s.path, r.signed, r.signature, a.chain, a.tx_hash, a.block_number
       FROM decision_seals s JOIN decision_roots r ON r.number = s.root
       LEFT JOIN decision_anchors a ON a.root = r.number AND a.tx_hash IS NOT NULL
      WHERE s.account_id = $1 ${covering === undefined ? 'ORDER BY s.seq DESC' : 'AND s.seq >= $2 ORDER BY s.seq'} LIMIT 1`,
    covering === undefined ? [accountId] : [accountId, covering],
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  const { seq, place, salt, path, signed, signature } = row;
  return {
    seq: String(seq),
    place: String(place),
    salt: salt.toString('hex'),
    path: inHex(path),
    root: JSON.parse(signed) as SignedRoot,
    signature: signature.toString('hex'),
    anchor: anchorOf(row),
  };
}

function anchorOf({ chain, txHash, blockNumber }: Pick<SealRow, 'chain' | 'txHash' | 'blockNumber'>): Anchor | null {
  if (chain === null || txHash === null) return null;
  return { chain, txHash, blockNumber: String(blockNumber) };
}

/** How many anchors are published. */
const publishedAnchors = 24;

/** For everybody: the keys that ever signed, the newest root, and where the last roots are anchored. */
export async function publishRoots(db: Queryable) {
  const { rows } = await db.query<{ signed: string; signature: Buffer }>(
    'SELECT signed, signature FROM decision_roots ORDER BY number DESC LIMIT 1',
  );
  const { rows: anchors } = await db.query<Omit<SealRow, 'root'> & { data: Buffer; root: bigint; finishedAt: Date }>(
    `SELECT root, chain, tx_hash, block_number, data, finished_at FROM decision_anchors WHERE tx_hash IS NOT NULL
      ORDER BY root DESC LIMIT ${publishedAnchors}`,
  );
  const [latest] = rows;
  return {
    keys: await listSigningKeys(db),
    latest: latest
      ? { root: JSON.parse(latest.signed) as SignedRoot, signature: latest.signature.toString('hex') }
      : null,
    anchors: anchors.map(({ root, data, finishedAt, ...anchor }) => ({
      root: String(root),
      ...anchorOf(anchor),
      data: data.toString('hex'),
      at: finishedAt.toISOString(),
    })),
  };
}
