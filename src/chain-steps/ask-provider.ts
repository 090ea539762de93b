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

/** A refusal counts only as long as nobody has asked since: `mark` is what settleStep compares. */
export type Asked = { readonly ref: string } | { readonly refused: string; readonly mark: string };

/** What was known of a step in the moment in which we wrote down that it is asked, and our mark on it. */
interface Marked {
  readonly askedBefore: Date | null;
  readonly unansweredBefore: string | null;
  readonly quietMs: number;
  readonly mark: string;
}

/**
 * Asks the provider under the step's key. That it was asked is committed first. A refusal is taken for one only when nothing
 * can have been taken before: it was the first time of asking, or the provider's own list shows nothing.
 */
export async function askProvider(parts: ChainStepParts, step: ChainStep, request: ProviderRequest): Promise<Asked> {
  const { db, provider, checkpoint = noCheckpoint } = parts;
  const marked = await markAsked(db, step);
  checkpoint(`${step.saga}.${step.step}.asked`);
  const asked = await ask(provider, step, request).catch((error: unknown) =>
    judge(parts, step, request, { marked, error }),
  );
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

/** What others have done with the step since we read it counts too, so it is asked in the same statement. */
async function markAsked(db: Database, { id }: ChainStep): Promise<Marked> {
  return onlyRow(
    await db.query<Marked>(
      `UPDATE chain_steps s SET state = 'asked', asked_at = coalesce(s.asked_at, clock_timestamp()),
          unanswered_at = clock_timestamp()
         FROM (SELECT id, asked_at, unanswered_at FROM chain_steps WHERE id = $1 FOR UPDATE) before
        WHERE s.id = before.id AND s.state IN ('ready', 'asked')
       RETURNING before.asked_at AS "askedBefore", before.unanswered_at::text AS "unansweredBefore",
         s.unanswered_at::text AS mark,
         (extract(epoch FROM clock_timestamp() - coalesce(before.unanswered_at, s.asked_at)) * 1000)::float8 AS "quietMs"`,
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
  { marked, error }: { readonly marked: Marked; readonly error: unknown },
): Promise<Asked> {
  // The key belongs to something else: perhaps it was paid, so a person has to look.
  if (!(error instanceof ProviderError) || error.retryable || error.code === 'idempotency_mismatch') throw error;
  const { askedBefore, unansweredBefore, quietMs, mark } = marked;
  const refused = { refused: error.message, mark };
  if (askedBefore === null || error.provesNothingTaken) return refused;
  const taken = await provider
    .findTaken(
      { ...request, idempotencyKey: step.id },
      { askedAt: askedBefore, quietMs, belongsToAnother: (ref) => isOfAnother(db, step, ref) },
    )
    .catch(async (unsettled: unknown) => {
      // This time there was an answer; what may still be on its way is the time before, unless somebody asks just now.
      await db.query('UPDATE chain_steps SET unanswered_at = $2 WHERE id = $1 AND unanswered_at::text = $3', [
        step.id,
        unansweredBefore,
        mark,
      ]);
      throw unsettled;
    });
  return taken === undefined ? refused : { ref: taken };
}

async function isOfAnother(db: Database, { id }: ChainStep, ref: string): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM chain_steps WHERE provider_ref = $1 AND id <> $2 LIMIT 1', [ref, id]);
  return rows.length > 0;
}
