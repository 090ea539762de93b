import type { Hex } from 'viem';
import { noCheckpoint } from '../checkpoint.ts';
import { type Database, onlyRow } from '../db/database.ts';
import type { HouseWallet } from '../wallets/house-wallets.ts';
import { ProviderError, type WalletProvider } from '../wallets/provider.ts';
import type { ChainStep } from './chain-step.ts';
import type { ChainStepParts } from './parts.ts';

/** What to ask for. It must be the same every time, for it goes under the same key. */
export type ProviderRequest =
  | { readonly from: HouseWallet; readonly token: Hex; readonly to: Hex; readonly atomic: bigint }
  | { readonly from: HouseWallet; readonly contract: Hex; readonly data: Hex; readonly value?: bigint };

export type Asked = { readonly ref: string } | { readonly refused: string };

/**
 * Asks the provider under the step's key. That it was asked is committed first. A refusal is taken for one only when nothing
 * can have been taken before: it was the first time of asking, or the provider's own list shows nothing.
 */
export async function askProvider(parts: ChainStepParts, step: ChainStep, request: ProviderRequest): Promise<Asked> {
  const { db, provider, checkpoint = noCheckpoint } = parts;
  await markAsked(db, step);
  checkpoint(`${step.saga}.${step.step}.asked`);
  const asked = await ask(provider, step, request).catch((error: unknown) => judge(parts, step, request, error));
  if ('ref' in asked) {
    await db.query(
      `UPDATE chain_steps SET provider_ref = $2, state = 'taken', unanswered_at = NULL
        WHERE id = $1 AND provider_ref IS NULL AND settled_at IS NULL`,
      [step.id, asked.ref],
    );
    checkpoint(`${step.saga}.${step.step}.taken`);
  }
  return asked;
}

async function markAsked(db: Database, { id }: ChainStep): Promise<void> {
  onlyRow(
    await db.query(
      `UPDATE chain_steps SET state = 'asked', asked_at = coalesce(asked_at, clock_timestamp()),
          unanswered_at = clock_timestamp()
        WHERE id = $1 AND state IN ('ready', 'asked') RETURNING id`,
      [id],
    ),
  );
}

async function ask(provider: WalletProvider, { id }: ChainStep, request: ProviderRequest): Promise<Asked> {
  const identified = { ...request, idempotencyKey: id };
  return { ref: await ('token' in identified ? provider.sendToken(identified) : provider.execute(identified)) };
}

async function judge(
  { db, provider }: ChainStepParts,
  step: ChainStep,
  request: ProviderRequest,
  error: unknown,
): Promise<Asked> {
  // The key belongs to something else: perhaps it was paid, so a person has to look.
  if (!(error instanceof ProviderError) || error.retryable || error.code === 'idempotency_mismatch') throw error;
  if (step.askedAt === null || error.provesNothingTaken) return { refused: error.message };
  // This time there is an answer; what may still be on its way is the time before.
  const { quiet_ms } = onlyRow(
    await db.query<{ quiet_ms: number }>(
      `UPDATE chain_steps SET unanswered_at = $2 WHERE id = $1
       RETURNING (extract(epoch FROM clock_timestamp() - coalesce(unanswered_at, asked_at)) * 1000)::float8 AS quiet_ms`,
      [step.id, step.unansweredAt],
    ),
  );
  const taken = await provider.findTaken(
    { ...request, idempotencyKey: step.id },
    {
      askedAt: step.askedAt,
      quietMs: quiet_ms,
      belongsToAnother: (ref) => isOfAnother(db, step, ref),
    },
  );
  return taken === undefined ? { refused: error.message } : { ref: taken };
}

async function isOfAnother(db: Database, { id }: ChainStep, ref: string): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM chain_steps WHERE provider_ref = $1 AND id <> $2 LIMIT 1', [ref, id]);
  return rows.length > 0;
}
