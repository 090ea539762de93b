import type { Hex } from 'viem';
import type { Database, Queryable, Transaction } from '../../kernel/db/database.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { type HeldWallet, ProviderError } from '../wallets/provider.ts';
import type { ChainStep, ChainStepParts } from './chain-step.ts';

/** Must be the same for every attempt, because all go under one idempotency key. */
export type ProviderRequest =
  | { readonly from: HeldWallet; readonly token: Hex; readonly to: Hex; readonly atomic: bigint }
  | { readonly from: HeldWallet; readonly contract: Hex; readonly data: Hex; readonly value?: bigint };

export type Asked = { readonly ref: string } | Refused;

/** Valid only until another process asks again: see settleStep. */
export interface Refused {
  readonly refused: string;
  /** The last request without an answer that this refusal knows of. As text: a Date has no microseconds. */
  readonly unansweredAt: string | null;
}

/**
 * Asks the provider under the step's key, after committing that it will. A refusal counts only when no earlier request can have been
 * accepted: it was the first request, or the provider's own list shows none. Undefined when another process has advanced the step: then
 * nothing was asked, and the caller must read the step again.
 */
export async function askProvider(
  parts: ChainStepParts,
  step: ChainStep,
  request: ProviderRequest,
  beforeAsking?: (tx: Transaction) => Promise<void>,
): Promise<Asked | undefined> {
  const { db, checkpoint = noCheckpoint } = parts;
  const asked = await (beforeAsking === undefined
    ? askAndJudge(parts, step, request, await markAsked(db, step))
    : askUnlessStopped(parts, step, request, beforeAsking));
  if (asked !== undefined && 'ref' in asked) {
    await db.query(
      `UPDATE chain_steps SET provider_ref = $2, state = 'taken', unanswered_at = NULL
        WHERE id = $1 AND provider_ref IS NULL AND settled_at IS NULL`,
      [step.id, asked.ref],
    );
    checkpoint(`${step.saga}.${step.step}.taken`);
  }
  return asked;
}

async function askAndJudge(
  parts: ChainStepParts,
  step: ChainStep,
  request: ProviderRequest,
  mark: Mark | undefined,
): Promise<Asked | undefined> {
  const { checkpoint = noCheckpoint } = parts;
  if (mark === undefined) return undefined;
  checkpoint(`${step.saga}.${step.step}.asked`);
  return ask(parts, step, request, mark).catch((error: unknown) => judge(parts, step, request, mark, error));
}

/** A transaction that the provider already has is followed even if `beforeAsking` forbids another request. */
async function askUnlessStopped(
  parts: ChainStepParts,
  step: ChainStep,
  request: ProviderRequest,
  beforeAsking: (tx: Transaction) => Promise<void>,
): Promise<Asked | undefined> {
  const { db, provider } = parts;
  let mark: Mark | undefined;
  try {
    mark = await db.transaction(async (tx) => {
      await beforeAsking(tx);
      return markAsked(tx, step);
    });
  } catch (error) {
    const { id, askedAt, unansweredAt } = step;
    if (askedAt === null) throw error;
    const ref = await provider.findTaken(
      { ...request, idempotencyKey: id },
      {
        askedAt,
        quietMs: Date.now() - (unansweredAt ?? askedAt).getTime(),
        belongsToAnother: (other) => isOfAnother(db, step, other),
      },
    );
    if (ref === undefined) throw error;
    return { ref };
  }
  return askAndJudge(parts, step, request, mark);
}

/** The row before this request, and the mark that this request has left on it. */
interface Mark {
  readonly firstAsked: Date | null;
  readonly before: string | null;
  readonly mine: string;
}

/**
 * Two processes may ask at the same time: each leaves its mark and remembers the one it has overwritten. Undefined when the provider has
 * taken the step meanwhile, or when the step is settled.
 */
async function markAsked(db: Queryable, { id }: ChainStep): Promise<Mark | undefined> {
  const { rows } = await db.query<Mark>(
    `UPDATE chain_steps s SET state = 'asked', asked_at = coalesce(s.asked_at, clock_timestamp()),
        unanswered_at = clock_timestamp()
       FROM (SELECT id, asked_at, unanswered_at FROM chain_steps WHERE id = $1 FOR UPDATE) earlier
      WHERE s.id = earlier.id AND s.state IN ('ready', 'asked')
     RETURNING earlier.asked_at AS first_asked, earlier.unanswered_at::text AS before, s.unanswered_at::text AS mine`,
    [id],
  );
  return rows[0];
}

async function ask(
  { db, provider }: ChainStepParts,
  step: ChainStep,
  request: ProviderRequest,
  { firstAsked: askedAt }: Mark,
): Promise<Asked> {
  const belongsToAnother = (ref: string) => isOfAnother(db, step, ref);
  const identified = {
    ...request,
    idempotencyKey: step.id,
    ...(askedAt !== null && { askedBefore: { askedAt, belongsToAnother } }),
  };
  return { ref: await ('token' in identified ? provider.sendToken(identified) : provider.execute(identified)) };
}

async function judge(
  { db, provider }: ChainStepParts,
  step: ChainStep,
  request: ProviderRequest,
  mark: Mark,
  error: unknown,
): Promise<Asked> {
  // The key belongs to another request, which may have been paid: a person must look.
  if (!(error instanceof ProviderError) || error.retryable || error.code === 'idempotency_mismatch') throw error;
  const refused = error.message;
  if (mark.firstAsked === null || error.provesNothingTaken) return { refused, unansweredAt: mark.mine };
  const taken = await provider.findTaken(
    { ...request, idempotencyKey: step.id },
    {
      askedAt: mark.firstAsked,
      quietMs: await takeMarkBack(db, step, mark),
      belongsToAnother: (ref) => isOfAnother(db, step, ref),
    },
  );
  return taken === undefined ? { refused, unansweredAt: mark.before } : { ref: taken };
}

/** This request was answered, but the one before may still be under way. Answers how long ago that one was. */
async function takeMarkBack(db: Database, { id }: ChainStep, { before, mine }: Mark): Promise<number> {
  const { rows } = await db.query<{ quietMs: number }>(
    `UPDATE chain_steps SET unanswered_at = $2::timestamptz WHERE id = $1 AND unanswered_at = $3::timestamptz
     RETURNING (extract(epoch FROM clock_timestamp() - coalesce(unanswered_at, asked_at)) * 1000)::float8 AS quiet_ms`,
    [id, before, mine],
  );
  if (rows[0] === undefined) throw askedElsewhere();
  return rows[0].quietMs;
}

/** Another process has asked meanwhile: the next attempt finds out what became of that request. */
export function askedElsewhere(): ProviderError {
  return new ProviderError('It was asked for once more at the same time.', {
    retryable: true,
    code: 'asked_elsewhere',
  });
}

async function isOfAnother(db: Database, { id }: ChainStep, ref: string): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM chain_steps WHERE provider_ref = $1 AND id <> $2 LIMIT 1', [ref, id]);
  return rows.length > 0;
}
