import type { Hex } from 'viem';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { defineSaga } from '../../kernel/sagas/define-saga.ts';
import { handleSaga, type SagaHandler, type SagaStep } from '../../kernel/sagas/run-saga.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import { amountOf } from '../../money/amount.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';
import { advanceSaga } from '../steps/advance-saga.ts';
import type { SagaParts } from '../steps/chain-step.ts';
import { planStep } from '../steps/plan-step.ts';
import { stepCheckpoints, takeStep } from '../steps/take-step.ts';
import { findHouseWalletById, type HouseWallet } from '../wallets/house-wallets.ts';

const minutes = 60_000;

/** Moves house money between house wallets: from a retired one, or to fill another. */
export const houseMoveSaga = defineSaga({
  name: 'house_move',
  table: 'house_moves',
  lane: 'chain',
  about: "chain || ' ' || coalesce(token, 'native coin') || ' to wallet ' || to_wallet",
  fixed: ['chain', 'from_wallet', 'to_wallet', 'token', 'atomic'],
  states: {
    moving: {
      meaning: 'one wallet sends the amount to the other',
      next: ['complete', 'failed'],
      withinMs: 60 * minutes,
    },
    complete: { meaning: 'the amount has moved', next: [] },
    failed: { meaning: 'the transfer was refused or reverted; the next check starts again from the balance', next: [] },
  },
  checkpoints: ['house_move.begun', ...stepCheckpoints('house_move', 'move'), 'house_move.completed'],
  rehearsal: {
    commands: [
      ['treasury', 'rotate-seed'],
      ['treasury', 'rotate-seed', '--backed-up', '2'],
    ],
    endsAs: 'complete',
    notWith: ['circle'],
  },
});

function moveStep(moveId: string) {
  return { sagaId: moveId, step: 'move' } as const;
}

export interface NewHouseMove {
  readonly from: HouseWallet;
  readonly to: HouseWallet;
  /** Null for the native coin. */
  readonly token: { readonly address: Hex; readonly asset: Asset } | null;
  readonly atomic: bigint;
}

/** Does nothing while another move of the same wallet and coin is open. */
export async function beginHouseMove(tx: Transaction, { from, to, token, atomic }: NewHouseMove): Promise<void> {
  const { chain } = from;
  const id = newId('mov');
  const { rowCount } = await tx.query(
    `INSERT INTO house_moves (id, chain, from_wallet, to_wallet, token, atomic, status)
     VALUES ($1, $2, $3, $4, $5, $6, 'moving') ON CONFLICT DO NOTHING`,
    [id, chain, from.id, to.id, token?.address ?? null, atomic],
  );
  if (rowCount === 0) return;
  // The books do not track native coin, so the step sets nothing aside.
  const leaves =
    token === null ? [] : [{ amount: amountOf(token.asset, atomic), recipient: to.address, stays: true as const }];
  await planStep(tx, { saga: houseMoveSaga.name, ...moveStep(id), chain, wallet: from, leaves });
  await wakeSaga(tx, { saga: houseMoveSaga.name, id, lane: chain });
}

interface HouseMove {
  readonly id: string;
  readonly status: 'moving' | 'complete' | 'failed';
  readonly chain: ChainId;
  readonly toWallet: string;
  /** Null for the native coin. */
  readonly token: Hex | null;
  readonly atomic: bigint;
}

export type HouseMoveParts = Omit<SagaParts, 'logger'>;

export function houseMoveHandler(parts: HouseMoveParts): SagaHandler {
  return handleSaga(houseMoveSaga, (id) => findMove(parts.db, id), { moving: (move) => advance(parts, move) });
}

async function findMove(db: Queryable, id: string): Promise<HouseMove | undefined> {
  const { rows } = await db.query<HouseMove>(
    'SELECT id, status, chain, to_wallet, token, atomic FROM house_moves WHERE id = $1',
    [id],
  );
  return rows[0];
}

async function advance(parts: HouseMoveParts, { id, toWallet, token, atomic }: HouseMove): Promise<SagaStep> {
  const { db, ledger, checkpoint = noCheckpoint } = parts;
  const to = await findHouseWalletById(db, toWallet);
  if (to === undefined) throw new Error(`move ${id} names a wallet that is not there`);
  const progress = await takeStep(parts, moveStep(id), (from) =>
    token === null
      ? { from, contract: to.address, data: '0x', value: atomic }
      : { from, token, to: to.address, atomic: atomic },
  );
  if (progress.state === 'waiting') return progress;
  await db.transaction((tx) =>
    advanceSaga(tx, ledger, houseMoveSaga, {
      id,
      from: 'moving',
      to: progress.state === 'confirmed' ? 'complete' : 'failed',
      settle: [{ ...moveStep(id), end: progress }],
    }),
  );
  checkpoint('house_move.completed');
  return 'rest';
}
