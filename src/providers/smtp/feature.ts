import { z } from 'zod';
import type { Feature } from '../../feature.ts';
import { defineSettings, missing, url } from '../../settings.ts';
import type { SmtpOptions } from './smtp-mailer.ts';

export const smtp: Feature<SmtpOptions | undefined> = {
  name: 'smtp',
  settings: defineSettings({
    variables: { SMTP_URL: url('smtp:', 'smtps:').optional(), MAIL_FROM: z.string().max(320).optional() },
    readme: ['| `SMTP_URL`, `MAIL_FROM` | sandbox: console | mail with verification codes |'],
    read: ({ SMTP_URL, MAIL_FROM }) => (SMTP_URL && MAIL_FROM ? { smtpUrl: SMTP_URL, from: MAIL_FROM } : undefined),
    refuseLive: (env) =>
      missing(env, {
        SMTP_URL: 'the mail server that sends verification codes',
        MAIL_FROM: 'the sender of those mails',
      }),
  }),
};
