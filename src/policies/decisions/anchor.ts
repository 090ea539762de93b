import type { Hex } from 'viem';
import type { Networks } from '../../chains/network.ts';
import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import { requireNetwork, type SagaParts } from '../../custody/steps/chain-step.ts';
import { planStep } from '../../custody/steps/plan-step.ts';
import { stepCheckpoints, takeStep } from '../../custody/steps/take-step.ts';
import { houseWallet } from '../../custody/wallets/house-wallets.ts';
import type { WalletProvider } from '../../custody/wallets/provider.ts';
import type { Database, Queryable } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { type Checkpoint, noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { defineSaga } from '../../kernel/sagas/define-saga.ts';
import { handleSaga, type SagaHandler, type SagaStep } from '../../kernel/sagas/run-saga.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import type { ChainId } from '../../money/catalogue.ts';

/** Carries a signed root to a chain: a transaction of our gas wallet to itself, without value, with the root as its data. */
export const anchorSaga = defineSaga({
  name: 'decision_anchor',
  table: 'decision_anchors',
  lane: 'chain',
  about: "'decision root ' || root || ' on ' || chain",
  fixed: ['root', 'chain', 'wallet_id', 'data'],
  states: {
    sending: {
      meaning: 'the transaction is sent and followed',
      next: ['anchored', 'failed'],
      withinMs: 60 * 60_000,
    },
    anchored: { meaning: 'the root is on the chain', next: [] },
    failed: { meaning: 'the transaction was refused or reverted; the next root is tried again', next: [] },
  },
  checkpoints: ['decision_anchor.begun', ...stepCheckpoints('decision_anchor', 'send'), 'decision_anchor.completed'],
  rehearsal: { commands: [['decisions', 'anchor']], endsAs: 'anchored', notWith: ['circle'] },
});

function sendStep(anchorId: string) {
  return { sagaId: anchorId, step: 'send' } as const;
}

export interface AnchorParts {
  readonly db: Database;
  readonly networks: Networks;
  readonly provider: Pick<WalletProvider, 'name'>;
  readonly checkpoint?: Checkpoint | undefined;
}

/** Only wallets of our own keys send data of our choice. */
export function canAnchor({ networks, provider }: Pick<AnchorParts, 'networks' | 'provider'>, chain: ChainId): boolean {
  return provider.name === 'keys' && networks.has(chain);
}

/**
 * Begins to anchor the newest root, unless it is anchored or on its way. Does nothing while the chain has another one on its way. One that
 * is on its way to a chain that the operator has left does not matter.
 */
export async function beginAnchor({ db, checkpoint = noCheckpoint }: AnchorParts, chain: ChainId): Promise<void> {
  const wallet = await houseWallet(db, 'gas', chain);
  await db.transaction(async (tx) => {
    // So that no root is on its way to two chains, which only one could confirm.
    await lockUntilCommit(tx, 'decisions');
    const id = newId('anc');
    const { rowCount } = await tx.query(
      `INSERT INTO decision_anchors (id, root, chain, wallet_id, data, status)
       SELECT $1, r.number, $2, $3, r.root || coalesce(r.reserves_root, decode(repeat('00', 32), 'hex')), 'sending'
         FROM (SELECT * FROM decision_roots ORDER BY number DESC LIMIT 1) r
        WHERE NOT EXISTS (SELECT FROM decision_anchors a WHERE a.root = r.number AND (a.tx_hash IS NOT NULL OR a.finished_at IS NULL))
       ON CONFLICT DO NOTHING`,
      [id, chain, wallet.id],
    );
    if (rowCount === 0) return;
    await planStep(tx, { saga: anchorSaga.name, ...sendStep(id), chain, wallet });
    await wakeSaga(tx, { saga: anchorSaga.name, id, lane: chain });
  });
  checkpoint('decision_anchor.begun');
}

interface AnchorRow {
  readonly id: string;
  readonly status: 'sending' | 'anchored' | 'failed';
  readonly chain: ChainId;
  readonly data: Buffer;
}

export type AnchorSagaParts = Omit<SagaParts, 'logger'>;

export function anchorHandler(parts: AnchorSagaParts): SagaHandler {
  return handleSaga(anchorSaga, (id) => findAnchor(parts.db, id), { sending: (anchor) => send(parts, anchor) });
}

async function findAnchor(db: Queryable, id: string): Promise<AnchorRow | undefined> {
  const { rows } = await db.query<AnchorRow>('SELECT id, status, chain, data FROM decision_anchors WHERE id = $1', [
    id,
  ]);
  return rows[0];
}

async function send(parts: AnchorSagaParts, { id, chain, data }: AnchorRow): Promise<SagaStep> {
  const { db, ledger, networks, checkpoint = noCheckpoint } = parts;
  requireNetwork(networks, chain);
  const hex: Hex = `0x${data.toString('hex')}`;
  const end = await takeStep(parts, sendStep(id), (from) => ({ from, contract: from.address, data: hex }));
  if (end.state === 'waiting') return end;
  await db.transaction((tx) =>
    advanceSaga(tx, ledger, anchorSaga, {
      id,
      from: 'sending',
      to: end.state === 'confirmed' ? 'anchored' : 'failed',
      ...(end.state === 'confirmed' && { set: { txHash: end.hash, blockNumber: end.blockNumber } }),
      settle: [{ ...sendStep(id), end }],
    }),
  );
  checkpoint('decision_anchor.completed');
  return 'rest';
}
