import type { FastifyInstance, FastifyRequest } from 'fastify';
import { monotonicClock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { countsFailures } from '../../kernel/http/doors.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { defineErrors } from '../../kernel/http/problem.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { createSometimes } from '../../kernel/log/sometimes.ts';
import { noteCardUpdate } from './note-card-update.ts';
import { type CardUpdate, InvalidSignature, type OnRamp } from './on-ramp.ts';

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
      const sometimes = createSometimes(monotonicClock);
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
