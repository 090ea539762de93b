import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isAddress, isAddressEqual } from 'viem';
import { monotonicClock } from '../../kernel/clock.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { defineErrors } from '../../kernel/http/problem.ts';
import { countsFailures } from '../../kernel/http/request-guards.ts';
import { createLogThrottle } from '../../kernel/log/log-throttle.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { amountFromText } from '../../money/parse-amount.ts';
import { type Link, type LinkRow, linkColumns, linkTables, toLink } from './link.ts';
import { type CardUpdate, InvalidSignature, type OnRamp } from './on-ramp.ts';

/** `known`: a replay. `strange`: the notice does not match the purchase that we started. */
type Noted =
  | { readonly is: 'noted' }
  | { readonly is: 'known' }
  | { readonly is: 'strange'; readonly why: StrangeNotice };

type StrangeNotice = 'no_such_link' | 'other_amount' | 'other_currency' | 'other_address' | 'link_is_over';

/** For the page only. Notices may arrive twice, late or out of order, so `sent` and `failed` are final. */
export async function noteCardUpdate(db: Database, provider: string, update: CardUpdate): Promise<Noted> {
  return db.transaction(async (tx) => {
    const found = await findForUpdate(tx, update.reference);
    const why = found === undefined ? 'no_such_link' : strangeness(found, update);
    if (why !== undefined) return { is: 'strange', why };
    const { rowCount } = await tx.query(
      `INSERT INTO funding_card_payments AS c (provider, payment_id, link_id, state, reason) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (provider, payment_id) DO UPDATE
         SET state = excluded.state, reason = excluded.reason, updated_at = clock_timestamp()
         WHERE c.state = 'pending' AND excluded.state <> 'pending' AND c.link_id = excluded.link_id`,
      [provider, update.paymentId, update.reference, update.state, update.reason ?? null],
    );
    return rowCount === 1 ? { is: 'noted' } : { is: 'known' };
  });
}

interface FoundLink extends Link {
  readonly address: string | null;
}

async function findForUpdate(tx: Transaction, linkId: string): Promise<FoundLink | undefined> {
  const { rows } = await tx.query<LinkRow & { address: string | null }>(
    `SELECT ${linkColumns}, w.address FROM ${linkTables}
       LEFT JOIN wallets w ON w.account_id = l.account_id AND w.chain = l.chain AND w.retired_at IS NULL
      WHERE l.id = $1`,
    [linkId],
  );
  return rows[0] && { ...toLink(rows[0]), address: rows[0].address };
}

function strangeness(link: FoundLink, { amount, asset, address }: CardUpdate): StrangeNotice | undefined {
  if (asset !== undefined && asset !== link.amount.asset) return 'other_currency';
  if (amount !== undefined && !isSameAmount(link, amount)) return 'other_amount';
  if (address !== undefined && !isSameAddress(link, address)) return 'other_address';
  return link.status === 'completed' || link.status === 'expired' ? 'link_is_over' : undefined;
}

function isSameAmount(link: Link, text: string): boolean {
  const parsed = amountFromText(link.amount.asset, text);
  return parsed.ok && parsed.amount.atomic === link.amount.atomic;
}

function isSameAddress({ address }: FoundLink, other: string): boolean {
  return isAddress(other, { strict: false }) && address !== null && isAddressEqual(other, address as `0x${string}`);
}

export interface CardNoticeParts {
  readonly db: Database;
  readonly onRamps: readonly OnRamp[];
  readonly logger: Logger;
}

const bodyLimitBytes = 64 * 1024;

/** One error for every signature problem, so that a forger learns nothing. */
const noticeErrors = defineErrors({
  invalid_signature: {
    status: 401,
    title: 'Invalid signature',
    detail: 'A notice must carry a fresh signature of the card company over the exact bytes of its body.',
  },
});

/** Card companies have no API key of ours. Only their failed requests count against the rate limit. */
function noticePath(name: string): string {
  return `/api/funding/${name}/notices`;
}

export function addCardNotices(app: FastifyInstance, { db, onRamps, logger }: CardNoticeParts): void {
  app.register(async (scope) => {
    // The signature covers the raw bytes, so no parser may change them first.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: bodyLimitBytes }, (_request, bytes, done) => {
      done(null, bytes);
    });

    for (const { name, readNotice } of onRamps) {
      if (readNotice === undefined) continue;
      const sometimes = createLogThrottle(monotonicClock);
      const tellRefusal = (why: string) =>
        sometimes((times) =>
          logger.warn({ provider: name, why, times }, 'refused a card notice with an invalid signature'),
        );
      scope.post(noticePath(name), { bodyLimit: bodyLimitBytes, ...countsFailures }, async (request, reply) => {
        const update = readOrRefuse(readNotice, request, tellRefusal);
        if (update !== undefined) await note(update, name, request.id);
        return reply.send({ received: true });
      });
      scope.route({
        method: ['GET', 'PUT', 'PATCH', 'DELETE'],
        url: noticePath(name),
        exposeHeadRoute: false,
        ...countsFailures,
        handler: async () => {
          throw httpErrors.method_not_allowed(undefined, { headers: { Allow: 'POST' } });
        },
      });
    }
  });

  /** Always acknowledged, because a retry would change nothing. */
  async function note(update: CardUpdate, provider: string, requestId: string): Promise<void> {
    const noted = await noteCardUpdate(db, provider, update);
    const fields = { provider, requestId, payment: update.paymentId, link: update.reference };
    if (noted.is === 'known') logger.info(fields, 'ignored a card notice that was received before');
    if (noted.is === 'strange') {
      logger.warn({ ...fields, why: noted.why }, 'ignored a card notice that does not match its link');
    }
  }
}

function readOrRefuse(
  readNotice: NonNullable<OnRamp['readNotice']>,
  { body, headers }: FastifyRequest,
  tellRefusal: (why: string) => void,
): CardUpdate | undefined {
  try {
    return readNotice({ bytes: Buffer.isBuffer(body) ? body : Buffer.alloc(0), headers });
  } catch (error) {
    if (!(error instanceof InvalidSignature)) throw error;
    tellRefusal(error.message);
    throw noticeErrors.invalid_signature();
  }
}
