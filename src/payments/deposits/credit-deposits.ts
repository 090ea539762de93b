import { getAddress } from 'viem';
import type { SagaParts } from '../../custody/steps/chain-step.ts';
import { accountsKeepingUntilCommit } from '../../custody/wallets/kept-chains.ts';
import type { CreditedDeposit, OnDeposits } from '../../custody/watch/on-deposits.ts';
import type { Arrival } from '../../custody/watch/read-transfers.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { heldAccount, houseAccount, userAccount } from '../../ledger/account-id.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { newPostingId, type Posting } from '../../ledger/posting.ts';
import { amountOf } from '../../money/amount.ts';
import { type ChainId, homeChain } from '../../money/catalogue.ts';
import { applyOneNodeLimit } from './apply-one-node-limit.ts';
import type { OneNodeLimit } from './one-node-limit.ts';

export interface CreditParts extends Pick<SagaParts, 'db' | 'ledger' | 'logger'> {
  /** Called with new deposits of users, in the commit that credits them. */
  readonly onDeposits?: OnDeposits | undefined;
  /** Above this limit a second node must confirm a deposit. Without a limit, one node is enough. */
  readonly oneNodeLimit?: OneNodeLimit | undefined;
}

const depositsPerCommit = 200;

/**
 * Credits every new arrival within the one-node limit and holds the rest. The deposit row and its posting are one
 * commit, and the row is unique by (chain, transaction, log position), so a second reader finds the row and posts
 * nothing. Returns how many were new.
 */
export async function creditDeposits(
  parts: CreditParts,
  chain: ChainId,
  arrivals: readonly Arrival[],
): Promise<number> {
  // One order for all processes, so that two of them crediting the same deposits cannot deadlock.
  const sorted = arrivals.toSorted((a, b) => compare(a.txHash, b.txHash) || a.position - b.position);
  let credited = 0;
  for (let start = 0; start < sorted.length; start += depositsPerCommit) {
    const some = sorted.slice(start, start + depositsPerCommit);
    credited += await parts.db.transaction(async (tx) => {
      const believed = await applyOneNodeLimit(tx, chain, some, parts);
      return believed.length === 0 ? 0 : creditWithin(tx, parts, chain, believed);
    });
  }
  return credited;
}

/** Runs inside the caller's transaction. Returns how many were new. */
export async function creditWithin(
  tx: Transaction,
  { ledger, logger, onDeposits }: Pick<CreditParts, 'ledger' | 'logger' | 'onDeposits'>,
  chain: ChainId,
  arrivals: readonly Arrival[],
): Promise<number> {
  const owners = [...new Set(arrivals.flatMap(({ accountId }) => accountId ?? []))];
  const keepers = owners.length === 0 ? new Set<bigint>() : await accountsKeepingUntilCommit(tx, chain, owners);
  const deposits = arrivals.map((arrival) => toDeposit(chain, arrival, { isKept: isKept(arrival, keepers) }));
  const { fresh, earlier } = await insertDeposits(tx, chain, deposits);
  for (const { id, changed, reversed } of earlier) {
    if (changed) logger.error({ chain, deposit: id }, 'a credited deposit differs from what the chain shows now');
    if (reversed) logger.error({ chain, deposit: id }, 'a reversed deposit is on the chain');
  }
  const somebodys = fresh.flatMap((deposit) => toCredited(deposit) ?? []);
  if (somebodys.length > 0) await onDeposits?.(tx, chain, somebodys);
  if (fresh.length > 0) await postDeposits(tx, ledger, fresh);
  return fresh.length;
}

/** The bridge carries USDC only, so other assets are credited on the chain where they arrived. */
function isKept({ accountId, asset }: Arrival, keepers: ReadonlySet<bigint>): boolean {
  return accountId === null || asset !== 'USDC' || keepers.has(accountId);
}

interface Deposit {
  readonly id: string;
  readonly arrival: Arrival;
  /** The owner can spend it only after the bridge has carried it home. */
  readonly isHomeBound: boolean;
  readonly posting: Posting & Required<Pick<Posting, 'id'>>;
}

function toDeposit(chain: ChainId, arrival: Arrival, { isKept: kept }: { readonly isKept: boolean }): Deposit {
  const { accountId, asset, atomic, txHash, position, sender, expected } = arrival;
  const id = arrival.depositId ?? newId('dep');
  const ownAccount = kept ? userAccount : heldAccount;
  const account = accountId === null ? houseAccount('surplus', asset, chain) : ownAccount(accountId, asset, chain);
  return {
    id,
    arrival,
    isHomeBound: !kept,
    posting: {
      id: newPostingId(),
      type: 'deposit',
      reference: `deposit:${chain}:${txHash}:${position}`,
      amount: amountOf(asset, atomic),
      entries: [
        { account: houseAccount('custody', asset, chain), atomic: -atomic },
        { account: expected?.account ?? account, atomic },
      ],
      ...(accountId !== null && { recipientId: accountId, recipientEvent: 'deposit.received' }),
      details: {
        depositId: id,
        chain,
        txHash,
        from: getAddress(sender),
        // The event is sent now; bridge.completed follows when the owner can spend it.
        ...(!kept && { carriedTo: homeChain }),
      },
    },
  };
}

function toCredited({ id, arrival, posting }: Deposit): CreditedDeposit | undefined {
  const { accountId, asset, atomic, txHash, position, blockNumber } = arrival;
  if (accountId === null) return undefined;
  return { id, accountId, asset, atomic, txHash, position, blockNumber, transferId: posting.id };
}

interface EarlierDeposit {
  readonly id: string;
  /** The chain now shows a different transfer in its place. Only a reorg does that, and the operator must look. */
  readonly changed: boolean;
  /** The operator reversed it, so only the operator may restore it. */
  readonly reversed: boolean;
}

async function insertDeposits(
  tx: Transaction,
  chain: ChainId,
  deposits: readonly Deposit[],
): Promise<{ fresh: readonly Deposit[]; earlier: readonly EarlierDeposit[] }> {
  const columns = [
    deposits.map(({ id }) => id),
    deposits.map(({ arrival }) => arrival.txHash),
    deposits.map(({ arrival }) => arrival.position),
    deposits.map(({ arrival }) => arrival.blockNumber),
    deposits.map(({ arrival }) => arrival.accountId),
    deposits.map(({ arrival }) => getAddress(arrival.recipient)),
    deposits.map(({ arrival }) => getAddress(arrival.sender)),
    deposits.map(({ arrival }) => arrival.asset),
    deposits.map(({ arrival }) => arrival.atomic),
    deposits.map(({ posting }) => posting.id),
    deposits.map(({ arrival }) => arrival.expected?.stepId ?? null),
    deposits.map(({ isHomeBound }) => isHomeBound),
    deposits.map(({ arrival }) => arrival.expected?.claimId ?? null),
    deposits.map(({ arrival }) => arrival.oneNode ?? false),
  ];
  const given = `unnest($2::text[], $3::text[], $4::integer[], $5::bigint[], $6::bigint[], $7::text[], $8::text[],
      $9::text[], $10::numeric[], $11::text[], $12::uuid[], $13::boolean[], $14::text[], $15::boolean[])
    WITH ORDINALITY g (id, tx_hash, position, block_number, account_id, address, sender, asset, atomic, transfer_id, step_id,
      home_bound, claim_id, one_node, place)`;
  const { rows } = await tx.query<{ id: string }>(
    `INSERT INTO deposits (id, chain, tx_hash, position, block_number, account_id, address, sender, asset, atomic,
        transfer_id, step_id, home_bound, claim_id, one_node)
     SELECT id, $1, tx_hash, position, block_number, account_id, address, sender, asset, atomic, transfer_id, step_id,
            home_bound, claim_id, one_node
       FROM ${given} ORDER BY place
     ON CONFLICT (chain, tx_hash, position) DO NOTHING RETURNING id`,
    [chain, ...columns],
  );
  const inserted = new Set(rows.map(({ id }) => id));
  if (inserted.size === deposits.length) return { fresh: deposits, earlier: [] };
  // A reorg may have moved a known deposit to another block, or removed it for a while.
  const earlier = await tx.query<EarlierDeposit>(
    `UPDATE deposits d SET block_number = g.block_number, vanished_at = NULL FROM ${given}
      WHERE d.chain = $1 AND d.tx_hash = g.tx_hash AND d.position = g.position AND d.id <> g.id
      RETURNING d.id, (d.address, d.asset, d.atomic) <> (g.address, g.asset, g.atomic) AS changed,
                EXISTS (SELECT FROM deposit_reversals r WHERE r.deposit_id = d.id) AS reversed`,
    [chain, ...columns],
  );
  return { fresh: deposits.filter(({ id }) => inserted.has(id)), earlier: earlier.rows };
}

async function postDeposits(tx: Transaction, ledger: Ledger, deposits: readonly Deposit[]): Promise<void> {
  const outcomes = await ledger.postWithin(
    tx,
    deposits.map(({ posting }) => posting),
  );
  for (const [index, { outcome }] of outcomes.entries()) {
    if (outcome === 'posted') continue;
    const reference = deposits[index]?.posting.reference;
    throw new Error(`the ledger answered ${outcome} for ${reference}, although its deposit row is new`);
  }
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
