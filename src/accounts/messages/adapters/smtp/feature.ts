import { z } from 'zod';
import type { Feature } from '../../../../kernel/feature.ts';
import { isLoopback } from '../../../../kernel/loopback.ts';
import { defineSettings, missing, url } from '../../../../kernel/settings.ts';
import { parseUrl } from '../../../../kernel/text/parse-url.ts';
import type { SmtpOptions } from './smtp-mailer.ts';

export const smtp: Feature<{ settings: SmtpOptions | undefined }> = {
  name: 'smtp',
  settings: defineSettings({
    variables: { SMTP_URL: url('smtp:', 'smtps:').optional(), MAIL_FROM: z.string().max(320).optional() },
    docs: {
      room: 'Accounts',
      rows: {
        'SMTP_URL, MAIL_FROM': {
          usual: 'the sandbox prints mails on the console',
          does: 'The mail server and the sender of verification codes, password resets and notices.',
          change: 'Always in live mode.',
        },
      },
    },
    read: ({ SMTP_URL, MAIL_FROM }) => (SMTP_URL && MAIL_FROM ? { smtpUrl: SMTP_URL, from: MAIL_FROM } : undefined),
    refuseLive: (env) => [
      ...missing(env, {
        SMTP_URL: 'the mail server that sends verification codes',
        MAIL_FROM: 'the sender of those mails',
      }),
      ...(isInTheClear(env.SMTP_URL)
        ? [
            'SMTP_URL is unsafe: over a network it must begin with smtps://, or end in ?requireTLS=true, and check the certificate',
          ]
        : []),
    ],
  }),
};

/** Without requireTLS the mailer falls back to plain text when the server, or an attacker in between, offers no TLS. */
function isInTheClear(text: string | undefined): boolean {
  const mail = parseUrl(text ?? '');
  if (mail === undefined || isLoopback(mail.hostname)) return false;
  const isChecked = (mail.searchParams.get('tls.rejectUnauthorized') ?? 'true') === 'true';
  return !(isChecked && (mail.protocol === 'smtps:' || mail.searchParams.get('requireTLS') === 'true'));
}
