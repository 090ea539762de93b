import { expect } from 'vitest';
import type { Client, TestAccount } from './client.ts';

/** Where codes are needed: a new account whose email is verified. */
export async function registerVerified(client: Client, fields: { email?: string } = {}): Promise<TestAccount> {
  const account = await client.register(fields);
  await verifyEmail(client, account.key);
  return account;
}

export async function verifyEmail(client: Client, key: string): Promise<void> {
  const { body } = await client.get('/sandbox/messages', key);
  const { text } = body.messages.find((message: { channel: string }) => message.channel === 'email');
  const reply = await client.post('/account/email/verify', { code: text.slice(0, 6) }, key);
  if (reply.status !== 200) throw new Error(`verifying an email answered ${reply.status}`);
}

/** The newest token for a new password that an account was mailed, once it is there. */
export async function mailedToken(client: Client, key: string): Promise<string> {
  let token: string | undefined;
  await expect
    .poll(async () => {
      const { body } = await client.get('/sandbox/messages', key);
      token = body.messages.map(({ text }: { text: string }) => tokenIn(text)).find(Boolean);
      return token;
    })
    .toBeTruthy();
  return token ?? '';
}

export function tokenIn(text: string): string | undefined {
  return /^pwr_\w+$/m.exec(text)?.[0];
}
