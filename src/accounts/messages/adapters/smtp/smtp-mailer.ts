import { createTransport } from 'nodemailer';
import type { Notifier } from '../../notifier.ts';

const timeoutMs = 10_000;

export interface SmtpOptions {
  readonly smtpUrl: string;
  readonly from: string;
}

/** Works with any SMTP server: smtp://user:password@host:587, or smtps:// for implicit TLS. */
export function createSmtpMailer({ smtpUrl, from }: SmtpOptions): Notifier {
  const transport = createTransport(withTimeouts(smtpUrl), { from });
  return {
    async send({ to, subject, text }) {
      await transport.sendMail({ to, subject, text });
    },
  };
}

/** A hanging mail server must not block a job for minutes. Timeouts in the operator's URL take precedence. */
function withTimeouts(smtpUrl: string): string {
  const url = new URL(smtpUrl);
  for (const name of ['connectionTimeout', 'greetingTimeout', 'socketTimeout']) {
    if (!url.searchParams.has(name)) url.searchParams.set(name, String(timeoutMs));
  }
  return url.href;
}
