import type { Network, Networks } from '../../chains/network.ts';
import { askNodes } from '../../custody/watch/ask-nodes.ts';
import { compareNodes, type Verdict } from '../../custody/watch/compare-nodes.ts';
import type { Arrival } from '../../custody/watch/read-transfers.ts';
import { inParallel } from '../../kernel/in-parallel.ts';
import { type Loop, startLoop } from '../../kernel/jobs/loop.ts';
import { noWakes, type Wakes } from '../../kernel/jobs/wakes.ts';
import { type Checkpoint, noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { lockOneNode } from './apply-one-node-limit.ts';
import { type CreditParts, creditWithin } from './credit-deposits.ts';
import { findHeld, type HeldDeposit, isAnyHeld, listDue } from './held-deposit.ts';
import { receiveWithin } from './receive-at-house.ts';

export interface HeldParts extends CreditParts {
  readonly checkpoint?: Checkpoint | undefined;
  readonly wakes?: Wakes;
}

export const heldCheckpoints = ['deposits.proven', 'deposits.believed'] as const;

/** A loop apart from the watcher, so that a slow second node delays no other deposits. */
export function startCheckingHeldDeposits(
  parts: HeldParts,
  networks: Networks,
  mayAct: (chain: ChainId) => boolean,
): readonly Loop[] {
  const { wakes = noWakes } = parts;
  return [...networks.values()].map((network) => {
    const paceMs = Math.max(network.pollMs, noneDueMs);
    return startLoop({
      logger: parts.logger,
      fields: { chain: network.id },
      trouble: 'held deposits cannot be checked',
      rest: { wakes, topic: `held_deposits/${network.id}` },
      paceMs,
      async run() {
        if (!mayAct(network.id)) return paceMs;
        if ((await checkHeldDeposits(parts, network)) > 0) return network.pollMs;
        return (await isAnyHeld(parts.db, network.id)) ? paceMs : 'rest';
      },
    });
  });
}

const noneDueMs = 1_000;
const mostAtOnce = 100;
const askedAtOnce = 4;

/** Credits proven and released deposits, and records what the others wait for. Returns how many were due. */
export async function checkHeldDeposits(parts: HeldParts, network: Network): Promise<number> {
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

/** A deposit that the operator has released needs no node. */
async function judge(
  network: Network,
  { arrival, releasedAt }: HeldDeposit,
): Promise<{ readonly is: 'proven'; readonly shown: Proven } | Extract<Verdict, { is: 'doubtful' }>> {
  if (releasedAt !== null) return { is: 'proven', shown: arrival };
  return compareNodes(await askNodes(network, arrival));
}

/**
 * Moves the deposit from held to booked in one commit, as it was proven. The row lock keeps the operator from rejecting
 * it meanwhile. If it is already booked, `creditWithin` only recognises it.
 */
async function believe(parts: HeldParts, { id, chain, arrival }: HeldDeposit, proven: Proven): Promise<void> {
  const { atomic, sender, proofs, blockNumber } = proven;
  await parts.db.transaction(async (tx) => {
    await lockOneNode(tx, chain);
    const now = await findHeld(tx, id, 'lock');
    if (now === undefined || now.rejectedAt !== null || !isSamePlace(now.arrival, arrival)) return;
    await tx.query('DELETE FROM held_deposits WHERE id = $1', [id]);
    const entering = { ...arrival, atomic, sender, proofs, blockNumber };
    if (arrival.accountId === null) await receiveWithin(tx, parts, chain, entering, { seenAt: now.seenAt });
    else await creditWithin(tx, parts, chain, [entering]);
  });
}

/** A re-read may have changed the recipient or the asset of a held row. */
function isSamePlace(one: Arrival, other: Arrival): boolean {
  return one.accountId === other.accountId && one.recipient === other.recipient && one.asset === other.asset;
}

/** Backoff grows with the deposit's age, so one that waits for the operator costs few requests. */
const lookAgain = { shareOfAge: 10, mostSeconds: 600 };

async function wait(
  { db, logger }: HeldParts,
  { id: chain, pollMs }: Network,
  { id, arrival, told }: HeldDeposit,
  { because, onlyTime }: Extract<Verdict, { is: 'doubtful' }>,
): Promise<void> {
  await db.query(
    `UPDATE held_deposits SET because = $2, told = $2, look_after = clock_timestamp() + greatest(
        make_interval(secs => $3::float8 / 1000),
        least((clock_timestamp() - seen_at) / $4, make_interval(secs => $5)))
      WHERE id = $1 AND rejected_at IS NULL AND released_at IS NULL`,
    [id, because, pollMs, lookAgain.shareOfAge, lookAgain.mostSeconds],
  );
  if (told === because) return;
  const { txHash, asset, atomic } = arrival;
  const fields = { chain, deposit: id, txHash, asset, atomic: String(atomic), because };
  // An unfinalized block is normal and needs no warning.
  if (onlyTime) logger.info(fields, 'a deposit is held');
  else logger.warn(fields, 'a deposit is held');
}
