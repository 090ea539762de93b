import { createTransport } from 'nodemailer';
import type { Notifier } from '../../messages/notifier.ts';

/** Mail through any SMTP server (smtp://user:password@host:587, or smtps:// for TLS from the first byte). */
export function createSmtpMailer({ smtpUrl, from }: { readonly smtpUrl: string; readonly from: string }): Notifier {
  const transport = createTransport(smtpUrl, { from });
  return {
    async send({ to, subject, text }) {
      await transport.sendMail({ to, subject, text });
    },
  };
}
