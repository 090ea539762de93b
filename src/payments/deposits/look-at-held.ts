import type { Network, Networks } from '../../chains/network.ts';
import type { Arrival } from '../../custody/watch/arrival.ts';
import { askNodes } from '../../custody/watch/ask-nodes.ts';
import { judgeTestimony, type Verdict } from '../../custody/watch/judge-testimony.ts';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { inParallel } from '../../kernel/in-parallel.ts';
import { type Loop, startLoop } from '../../kernel/jobs/loop.ts';
import { type Checkpoint, noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { lockOneNode } from './believe-one-node.ts';
import { type CreditParts, creditWithin } from './credit-deposits.ts';
import { findHeld, type HeldDeposit, listDue } from './held-deposit.ts';
import { receiveWithin } from './receive-at-house.ts';

export interface HeldParts extends CreditParts {
  readonly checkpoint?: Checkpoint | undefined;
}

/** The checkpoints of a look. */
export const heldCheckpoints = ['deposits.proven', 'deposits.believed'] as const;

/**
 * Looks at what is held, on every chain, for as long as the process runs. Apart from the watch over the chains: a second node
 * that is slow or silent keeps nobody else's deposits waiting.
 */
export function startLookingAtHeld(
  parts: HeldParts,
  networks: Networks,
  mayAct: (chain: ChainId) => boolean,
): readonly Loop[] {
  return [...networks.values()].map((network) =>
    startLoop({
      logger: parts.logger,
      fields: { chain: network.id },
      trouble: 'deposits that are held cannot be looked at',
      async run() {
        const looked = mayAct(network.id) ? await lookAtHeld(parts, network) : 0;
        return looked > 0 ? network.pollMs : Math.max(network.pollMs, nothingHeldMs);
      },
    }),
  );
}

/** Most of the time nothing is held, and to find that out more often than this is for nothing. */
const nothingHeldMs = 1_000;
const mostAtOnce = 100;
const askedAtOnce = 4;

/**
 * One look at all whose time has come: what is proven or released is credited, of the rest it is noted what it waits for.
 * Answers how many those were.
 */
export async function lookAtHeld(parts: HeldParts, network: Network): Promise<number> {
  const { checkpoint = noCheckpoint } = parts;
  const due = await listDue(parts.db, network.id, mostAtOnce);
  await inParallel(due, askedAtOnce, async (held) => {
    const verdict = await judge(network, held);
    if (verdict.is === 'doubtful') {
      await wait(parts, network, held, verdict);
      return;
    }
    checkpoint('deposits.proven');
    await believe(parts, held, verdict.shown);
    checkpoint('deposits.believed');
  });
  return due.length;
}

type Proven = Pick<Arrival, 'atomic' | 'sender' | 'proofs' | 'blockNumber'>;

/** What the operator has released is asked of nobody. */
async function judge(
  network: Network,
  { arrival, releasedAt }: HeldDeposit,
): Promise<{ readonly is: 'proven'; readonly shown: Proven } | Extract<Verdict, { is: 'doubtful' }>> {
  if (releasedAt !== null) return { is: 'proven', shown: arrival };
  return judgeTestimony(await askNodes(network, arrival));
}

/**
 * One commit: it is held no more, and in the books as it was proven. Under the lock of its row, so that it is not rejected in the
 * same moment; should it be in the books already, they only recognise it.
 */
async function believe(parts: HeldParts, { id, chain, arrival }: HeldDeposit, proven: Proven): Promise<void> {
  const { atomic, sender, proofs, blockNumber } = proven;
  await parts.db.transaction(async (tx) => {
    await lockOneNode(tx, chain);
    const now = await findHeld(tx, id, 'lock');
    if (now === undefined || now.rejectedAt !== null || !isSamePlace(now.arrival, arrival)) return;
    await tx.query('DELETE FROM held_deposits WHERE id = $1', [id]);
    await enter(tx, parts, chain, { ...arrival, atomic, sender, proofs, blockNumber }, now.seenAt);
  });
}

async function enter(tx: Transaction, parts: HeldParts, chain: ChainId, arrival: Arrival, seenAt: Date): Promise<void> {
  if (arrival.accountId === null) await receiveWithin(tx, parts, chain, arrival, { seenAt });
  else await creditWithin(tx, parts, chain, [arrival]);
}

/** It was read again meanwhile, and is said to be somebody else's now, or something else. */
function isSamePlace(one: Arrival, other: Arrival): boolean {
  return one.accountId === other.accountId && one.recipient === other.recipient && one.asset === other.asset;
}

/** Looked at again soon while it is new, and ever more rarely: what waits for the operator costs few questions. */
const lookAgain = { shareOfAge: 10, mostSeconds: 600 };

async function wait(
  { db, logger }: HeldParts,
  { id: chain, pollMs }: Network,
  { id, arrival, told }: HeldDeposit,
  { because, onlyTime }: Extract<Verdict, { is: 'doubtful' }>,
): Promise<void> {
  await noteWait(db, id, { because, pollMs });
  if (told === because) return;
  const { txHash, asset, atomic } = arrival;
  const fields = { chain, deposit: id, txHash, asset, atomic: String(atomic), because };
  // That a block takes its time is nothing to be alarmed about.
  if (onlyTime) logger.info(fields, 'a deposit is held');
  else logger.warn(fields, 'a deposit is held');
}

async function noteWait(
  db: Queryable,
  id: string,
  { because, pollMs }: { readonly because: string; readonly pollMs: number },
): Promise<void> {
  await db.query(
    `UPDATE held_deposits SET because = $2, told = $2, look_after = clock_timestamp() + greatest(
        make_interval(secs => $3::float8 / 1000),
        least((clock_timestamp() - seen_at) / $4, make_interval(secs => $5)))
      WHERE id = $1 AND rejected_at IS NULL AND released_at IS NULL`,
    [id, because, pollMs, lookAgain.shareOfAge, lookAgain.mostSeconds],
  );
}
