import { setTimeout as sleep } from 'node:timers/promises';
import type { Hex } from 'viem';
import { z } from 'zod';
import type { Queryable } from '../../../../kernel/db/database.ts';
import { askProvider, type ProviderReply, ProviderTrouble } from '../../../../kernel/outgoing/ask-provider.ts';
import type { Attestation, Attestations } from '../../attestations.ts';

/** 20 requests a second for all instances together. Circle blocks clients above 35. */
const apartMs = 50;

/** A job waits no longer than this for its turn, and otherwise tries again later. */
const mostAheadMs = 2_000;

/** Milliseconds until this process may ask the service. Undefined when too many wait already. */
export async function takeTurn(db: Queryable): Promise<number | undefined> {
  const { rows } = await db.query<{ inMs: number }>(
    `UPDATE attestation_turns SET next_at = greatest(next_at, clock_timestamp()) + make_interval(secs => $1 / 1000.0)
      WHERE next_at < clock_timestamp() + make_interval(secs => $2 / 1000.0)
     RETURNING (extract(epoch FROM next_at - clock_timestamp()) * 1000 - $1)::float8 AS in_ms`,
    [apartMs, mostAheadMs],
  );
  return rows[0] && Math.max(0, rows[0].inMs);
}

/** Pauses all instances. */
export async function pauseRequests(db: Queryable, ms: number): Promise<void> {
  await db.query(
    'UPDATE attestation_turns SET next_at = greatest(next_at, clock_timestamp() + make_interval(secs => $1 / 1000.0))',
    [ms],
  );
}

export interface IrisParts {
  readonly db: Queryable;
  readonly url: string;
  readonly timeoutMs?: number;
}

/** Circle blocks a client that exceeds the rate limit for this long. */
const punishedMs = 5 * 60_000;

/** A late turn is dropped, because requests of two seconds that arrive in one would exceed the rate limit. */
const mostLateMs = 700;

const notAsked: Attestation = { state: 'not_asked', lookAgainInMs: 2_000 };

/** An answer has a few hundred bytes per message. */
const mostBytes = 1_000_000;

const headers = { accept: 'application/json' };

const hex = z.string().regex(/^0x([0-9a-fA-F]{2})*$/) as unknown as z.ZodType<Hex>;

const answer = z.object({
  messages: z.array(
    z.object({
      status: z.string(),
      message: hex.nullish(),
      attestation: z.string().nullish(),
      delayReason: z.string().nullish(),
    }),
  ),
});

/** Circle's attestation service. All instances share one rate limit. */
export function createIris({ db, url, timeoutMs = 5_000 }: IrisParts): Attestations {
  return {
    async find({ domain, txHash }) {
      const began = performance.now();
      const inMs = await takeTurn(db);
      if (inMs === undefined) return notAsked;
      await sleep(inMs);
      if (performance.now() - began > inMs + mostLateMs) return notAsked;
      try {
        const address = new URL(`/v2/messages/${domain}?transactionHash=${txHash}`, url);
        return await readAnswer(db, await askProvider(address, { headers, timeoutMs, mostBytes }));
      } catch (error) {
        if (!(error instanceof ProviderTrouble)) throw error;
        throw new AttestationTrouble(`the attestation service ${error.message}`);
      }
    },
  };
}

class AttestationTrouble extends Error {
  override readonly name = 'AttestationTrouble';
  readonly retryAfterMs: number | undefined;

  constructor(message: string, retryAfterMs?: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

async function readAnswer(db: Queryable, reply: ProviderReply): Promise<Attestation> {
  if (reply.status === 429) {
    reply.drop();
    const seconds = Number(reply.header('retry-after'));
    const waitMs = seconds > 0 ? Math.min(seconds * 1_000, punishedMs) : punishedMs;
    await pauseRequests(db, waitMs);
    throw new AttestationTrouble('the attestation service was asked too often', waitMs);
  }
  const text = await reply.text();
  if (reply.status === 404) return { state: 'unknown' };
  if (reply.status !== 200) throw new AttestationTrouble(`the attestation service answers ${reply.status}`);
  const parsed = answer.safeParse(fromJson(text));
  if (!parsed.success) throw new AttestationTrouble('the attestation service sent an unreadable answer');
  const { messages } = parsed.data;
  const attested = messages.flatMap(({ status, message, attestation }) => {
    const signatures = hex.safeParse(attestation);
    return status === 'complete' && message && signatures.success ? [{ message, attestation: signatures.data }] : [];
  });
  if (attested.length === messages.length) return { state: 'known', attested };
  const reason = messages.find(({ delayReason }) => delayReason)?.delayReason;
  return { state: 'known', attested, pending: describePending(reason ?? messages[0]?.status) };
}

/** External text for the operator's list, so it is cut to 60 word characters and spaces. */
function describePending(reason: string | null | undefined): string {
  return (reason ?? 'pending')
    .replaceAll(/[^\w ]/g, '')
    .slice(0, 60)
    .replaceAll('_', ' ');
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
