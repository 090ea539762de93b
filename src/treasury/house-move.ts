import type { Hex } from 'viem';
import type { ChainStepParts } from '../chain-steps/parts.ts';
import { settleStep } from '../chain-steps/settle-step.ts';
import { stepCheckpoints, takeStep } from '../chain-steps/take-step.ts';
import type { ChainId } from '../chains/chains.ts';
import { noCheckpoint } from '../checkpoint.ts';
import type { Queryable } from '../db/database.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { defineSaga } from '../sagas/define-saga.ts';
import { handleSaga, type SagaHandler, type SagaStep } from '../sagas/run-saga.ts';
import { findHouseWalletById } from '../wallets/house-wallets.ts';

const minutes = 60_000;

/** What a retired house wallet still holds, on its way to the one that replaced it. */
export const houseMoveSaga = defineSaga({
  name: 'house_move',
  table: 'house_moves',
  lane: 'chain',
  about: "chain || ' ' || coalesce(token, 'native coin') || ' to wallet ' || to_wallet",
  fixed: ['chain', 'from_wallet', 'to_wallet', 'token', 'atomic'],
  states: {
    moving: {
      meaning: 'the old wallet sends it to the new one',
      next: ['complete', 'failed'],
      withinMs: 60 * minutes,
    },
    complete: { meaning: 'it has moved', next: [] },
    failed: { meaning: 'it was refused or undone; the next look begins anew with what is there then', next: [] },
  },
  checkpoints: ['house_move.begun', ...stepCheckpoints('house_move', 'move'), 'house_move.completed'],
  rehearsal: { command: ['treasury', 'rotate-seed'], endsAs: 'complete', notWith: ['circle'] },
});

/** Its one step on a chain. */
export function moveStep(moveId: string) {
  return { sagaId: moveId, step: 'move' } as const;
}

interface HouseMove {
  readonly id: string;
  readonly status: 'moving' | 'complete' | 'failed';
  readonly chain: ChainId;
  readonly to_wallet: string;
  /** Null for the native coin. */
  readonly token: Hex | null;
  readonly atomic: string;
}

export interface HouseMoveParts extends ChainStepParts {
  readonly ledger: Ledger;
}

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

async function advance(parts: HouseMoveParts, { id, to_wallet, token, atomic }: HouseMove): Promise<SagaStep> {
  const { db, ledger, checkpoint = noCheckpoint } = parts;
  const to = await findHouseWalletById(db, to_wallet);
  if (to === undefined) throw new Error(`move ${id} names a wallet that is not there`);
  const progress = await takeStep(parts, moveStep(id), (from) =>
    token === null
      ? { from, contract: to.address, data: '0x', value: BigInt(atomic) }
      : { from, token, to: to.address, atomic: BigInt(atomic) },
  );
  if (progress.state === 'waiting') return progress;
  const status = progress.state === 'confirmed' ? 'complete' : 'failed';
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `UPDATE house_moves SET status = $2, finished_at = now(), updated_at = now() WHERE id = $1 AND status = 'moving'`,
      [id, status],
    );
    if (rowCount === 0) return;
    const gas = await settleStep(tx, moveStep(id), progress);
    if (gas !== undefined && gas.length > 0) await ledger.postWithin(tx, gas);
  });
  checkpoint('house_move.completed');
  return 'rest';
}
