import { signRequest } from '../../../src/kernel/signing/sign-request.ts';
import { fieldsOf } from '../ucp-versions.ts';
import type { Desk } from './desk.ts';
import type { Attempt } from './session.ts';

/** Anything but a clear answer is `unknown` and is retried. */
export type Redemption =
  | { readonly outcome: 'redeemed'; readonly paidBy: string }
  | { readonly outcome: 'refused'; readonly reason: string }
  | { readonly outcome: 'unknown' };

const patienceMs = 5_000;

/** Status codes that say nothing about the payment. */
const comeBack = new Set([408, 424, 425, 429]);

/** Redeems a credential with its issuer, idempotently under the same key. */
export async function redeemCredential(
  { publicUrl, signingKey, domain }: Desk,
  checkoutId: string,
  { key, token, amount, currency }: Attempt,
  signal: AbortSignal,
): Promise<Redemption> {
  try {
    const url = `${publicUrl()}/api/shopping/credentials/redeem`;
    const body = JSON.stringify({ token, checkout_id: checkoutId, amount, currency });
    const headers = {
      'Content-Type': 'application/json',
      'UCP-Agent': `profile="http://${domain}/.well-known/ucp"`,
      'Idempotency-Key': key,
    };
    const signed = signRequest({ method: 'POST', url, headers, body }, await signingKey());
    const reply = await fetch(url, {
      method: 'POST',
      headers: { ...headers, ...signed },
      body,
      redirect: 'error',
      signal: AbortSignal.any([AbortSignal.timeout(patienceMs), signal]),
    });
    return readRedemption(reply.status, fieldsOf(await reply.json()), { checkoutId, amount, currency });
  } catch {
    return { outcome: 'unknown' };
  }
}

function readRedemption(
  status: number,
  told: Readonly<Record<string, unknown>>,
  asked: { readonly checkoutId: string; readonly amount: number; readonly currency: string },
): Redemption {
  if (status === 200) {
    const agrees =
      told['status'] === 'redeemed' &&
      told['checkout_id'] === asked.checkoutId &&
      told['amount'] === asked.amount &&
      told['currency'] === asked.currency;
    return agrees ? { outcome: 'redeemed', paidBy: String(told['order_id']) } : { outcome: 'unknown' };
  }
  if (status < 400 || status >= 500 || comeBack.has(status) || told['code'] === 'idempotency_in_progress') {
    return { outcome: 'unknown' };
  }
  const why = told['detail'] ?? told['title'] ?? told['code'];
  return {
    outcome: 'refused',
    reason: typeof why === 'string' ? why.slice(0, 300) : `Paying was refused (${status}).`,
  };
}
