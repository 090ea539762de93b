import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../../kernel/clock.ts';
import { signRequest } from '../../../../kernel/signing/sign-request.ts';
import type { SigningKey } from '../../../../kernel/signing/signing-key.ts';
import { bytesOf, type SiteParts } from '../../../search/merchant-site.ts';
import { toTrouble } from '../../../search/merchant-trouble.ts';
import { readCheckoutReply } from '../../tasks.ts';

export interface CheckoutParts extends SiteParts {
  readonly clock: Clock;
  /** Its public half is in our profile. */
  readonly signingKey: () => Promise<SigningKey>;
  readonly publicUrl: () => string;
}

export interface ShopCall {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: string;
  readonly body?: object;
  /** The idempotency key. */
  readonly key?: string;
  readonly timeoutMs: number;
}

export interface ShopReply {
  readonly status: number;
  /** Undefined if the body is not JSON. */
  readonly json: unknown;
}

const mostBytes = 256_000;

/** Sends one signed request to a shop's checkout. Throws a MerchantTrouble if no complete response arrives. */
export async function callShop(
  { outgoing, parser, agent, signingKey }: CheckoutParts,
  { method, url, body, key, timeoutMs }: ShopCall,
): Promise<ShopReply> {
  const { profileUrl, userAgent } = agent();
  const content = body && JSON.stringify(body);
  const headers = {
    'ucp-agent': `profile="${profileUrl}"`,
    'request-id': randomUUID(),
    ...(key !== undefined && { 'idempotency-key': key }),
    ...(content !== undefined && { 'content-type': 'application/json' }),
  };
  const signature = signRequest(
    { method, url, headers, ...(content !== undefined && { body: content }) },
    await signingKey(),
  );
  try {
    const answer = await outgoing.request({
      method,
      url,
      headers: { ...headers, ...signature, accept: 'application/json', 'user-agent': userAgent },
      ...(content !== undefined && { body: content }),
      timeoutMs,
      maxBodyBytes: mostBytes,
    });
    return { status: answer.status, json: await parser.run(readCheckoutReply, bytesOf(answer)) };
  } catch (error) {
    throw toTrouble(error);
  }
}
