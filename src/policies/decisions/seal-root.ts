import { createHmac } from 'node:crypto';
import { setImmediate as letOthersGo } from 'node:timers/promises';
import { findSnapshot, readRoots } from '../../custody/reserves/read-proof.ts';
import { type Database, longStatements, onlyRow, type Transaction } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { chainWaiting } from './chain-records.ts';
import { createTree, leafHash, type Tree } from './merkle.ts';
import { canonicalJson, digest } from './record.ts';
import { openSigner } from './signing-keys.ts';

export interface SealParts {
  readonly db: Database;
  readonly secrets: Pick<Secrets, 'seal' | 'open'>;
}

/** A root as it is signed. */
export interface SignedRoot {
  readonly at: string;
  readonly keyId: string;
  /** From 1. */
  readonly number: string;
  /** SHA-256 of the signed text before. */
  readonly previousRoot: string | null;
  /** SHA-256 of the canonical JSON of `proof` in GET /reserves?snapshotId=…, and the id of that snapshot. */
  readonly reservesRoot: string | null;
  readonly reservesSnapshot: string | null;
  readonly root: string;
  /** How many accounts have a leaf. */
  readonly size: string;
}

interface HeadRow {
  readonly accountId: bigint;
  readonly handle: string;
  readonly place: bigint;
  readonly salt: Buffer;
  readonly seq: bigint;
  readonly head: Buffer;
  readonly sealedSeq: bigint;
}

/** A leaf whose account's chain has grown. `salt` is that of the tree. */
type Grown = Pick<HeadRow, 'accountId' | 'place' | 'salt' | 'seq'>;

/** Hashing so many takes some 20 ms, and the database is asked in between: it ends transactions that stay idle. */
const leavesAtOnce = 1_000;

/**
 * Chains what waits, and signs the root of a tree over the heads of all accounts. Keeps the path of each account whose chain has grown, so
 * that its records can be proved later. Returns the number of the new root; undefined when no chain has grown, unless `always` is set.
 */
export async function sealRoot(
  { db, secrets }: SealParts,
  { always = false }: { readonly always?: boolean } = {},
): Promise<bigint | undefined> {
  while ((await db.transaction(chainWaiting)).hasMore) await letOthersGo();
  return db.transaction(async (tx) => {
    await chainWaiting(tx);
    const { size, hasGrown } = onlyRow(
      await tx.query<{ size: number; hasGrown: boolean }>(
        'SELECT count(*)::integer AS size, coalesce(bool_or(seq > sealed_seq), false) AS has_grown FROM decision_heads',
      ),
    );
    if (!hasGrown && !always) return undefined;
    const before = await findNewestRoot(tx);
    const number = (before?.number ?? 0n) + 1n;
    const { tree, grown } = await buildTree(tx, { number, size });
    await insertRoot(tx, secrets, { number, before: before?.signed, root: tree.root(), size });
    for (let begin = 0; begin < grown.length; begin += leavesAtOnce)
      await insertSeals(tx, { number, tree, leaves: grown.slice(begin, begin + leavesAtOnce) });
    await tx.query('UPDATE decision_heads SET sealed_seq = seq WHERE sealed_seq < seq');
    return number;
  }, longStatements);
}

/** The lock of decisions is held, so the heads stay as they are from one statement to the next. */
async function buildTree(
  tx: Transaction,
  { number, size }: { readonly number: bigint; readonly size: number },
): Promise<{ readonly tree: Tree; readonly grown: readonly Grown[] }> {
  const tree = createTree(size);
  const grown: Grown[] = [];
  for (let begin = 0; begin < size; begin += leavesAtOnce) {
    const { rows } = await tx.query<HeadRow>(
      `SELECT h.account_id, a.handle, h.place, h.salt, h.seq, h.head, h.sealed_seq
         FROM decision_heads h JOIN accounts a ON a.id = h.account_id
        WHERE h.place >= $1 AND h.place < $2 ORDER BY h.place`,
      [begin, begin + leavesAtOnce],
    );
    for (const { accountId, handle, place, seq, head, sealedSeq, salt: secret } of rows) {
      const salt = createHmac('sha256', secret).update(String(number)).digest();
      tree.append(leafHash({ account: handle, salt, seq, head }));
      if (seq > sealedSeq) grown.push({ accountId, place, salt, seq });
    }
  }
  return { tree, grown };
}

interface NewSeals {
  readonly number: bigint;
  readonly tree: Tree;
  readonly leaves: readonly Grown[];
}

async function insertSeals(tx: Transaction, { number, tree, leaves }: NewSeals): Promise<void> {
  await tx.query(
    `INSERT INTO decision_seals (account_id, seq, root, place, salt, path)
     SELECT s.account_id, s.seq, $1, s.place, s.salt, s.path
       FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[]) s (account_id, seq, place, salt, path)`,
    [
      number,
      leaves.map(({ accountId }) => accountId),
      leaves.map(({ seq }) => seq),
      leaves.map(({ place }) => place),
      leaves.map(({ salt }) => salt),
      leaves.map(({ place }) => tree.path(Number(place))),
    ],
  );
}

interface RootRow {
  readonly number: bigint;
  readonly signed: string;
}

async function findNewestRoot(tx: Transaction): Promise<RootRow | undefined> {
  const { rows } = await tx.query<RootRow>('SELECT number, signed FROM decision_roots ORDER BY number DESC LIMIT 1');
  return rows[0];
}

interface NewRoot {
  readonly number: bigint;
  /** The signed text before. */
  readonly before: string | undefined;
  readonly root: Buffer;
  readonly size: number;
}

async function insertRoot(
  tx: Transaction,
  secrets: SealParts['secrets'],
  { number, before, root, size }: NewRoot,
): Promise<void> {
  const signer = await openSigner(tx, secrets);
  const snapshot = await findSnapshot(tx);
  const reserves = snapshot && digest(Buffer.from(canonicalJson(await readRoots(tx, snapshot))));
  const fields: SignedRoot = {
    at: new Date().toISOString(),
    keyId: signer.keyId,
    number: String(number),
    previousRoot: before === undefined ? null : digest(Buffer.from(before)).toString('hex'),
    reservesRoot: reserves?.toString('hex') ?? null,
    reservesSnapshot: snapshot?.id ?? null,
    root: root.toString('hex'),
    size: String(size),
  };
  const signed = canonicalJson(fields);
  await tx.query(
    `INSERT INTO decision_roots (number, root, reserves_root, key_id, signed, signature) VALUES ($1, $2, $3, $4, $5, $6)`,
    [number, root, reserves ?? null, signer.keyId, signed, signer.sign(signed)],
  );
}
