import { enqueue } from '../../kernel/jobs/define-job.ts';
import { accountErrors } from '../errors.ts';
import { countMessage } from '../messages/daily-caps.ts';
import { type MailResetParts, mailReset } from './mail-reset.ts';

/**
 * Requests a reset mail. A job looks the account up, so neither the response nor its timing reveals whether the email
 * has an account.
 */
export async function askReset(
  { db, logger, resetLimits }: Pick<MailResetParts, 'db' | 'logger' | 'resetLimits'>,
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
