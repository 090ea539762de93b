import type { Database } from '../../kernel/db/database.ts';
import { enqueue } from '../../kernel/jobs/define-job.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { accountErrors } from '../errors.ts';
import { countMessage } from '../messages/daily-caps.ts';
import { mailReset } from './mail-reset.ts';
import type { ResetLimits } from './reset-limits.ts';

export interface AskResetParts {
  readonly db: Database;
  readonly logger: Logger;
  readonly resetLimits: ResetLimits;
}

/**
 * Asks that a token be mailed. Whether the email has an account is looked at by a job and not here, so that neither the answer nor
 * its time tells.
 */
export async function askReset(
  { db, logger, resetLimits }: AskResetParts,
  { email, ip }: { readonly email: string; readonly ip: string },
): Promise<void> {
  const limits = { perNetwork: resetLimits.perNetwork, perTarget: 0, perCountry: 0, inAll: 0 };
  await db.transaction(async (tx) => {
    const over = await countMessage(tx, logger, limits, { kind: 'resets-asked', ip, target: email });
    if (over !== undefined) {
      throw accountErrors.too_many_attempts(
        'Your network has requested too many password resets today. Try again in an hour.',
        {
          headers: { 'Retry-After': '3600' },
        },
      );
    }
    await enqueue(tx, mailReset, { email, address: ip });
  });
}
