import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

/** Asks the service as an agent does. Throws on an unexpected answer. */
// biome-ignore lint/suspicious/noExplicitAny: the caller names the fields that it expects
export async function call(url: string, body?: object, key?: string): Promise<any> {
  const reply = await fetch(url, {
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    },
  });
  const answer = (await reply.json()) as { readonly code?: string };
  // On a busy machine the service may ask a client to try again: nothing has happened then.
  if (reply.status === 503 && answer.code === 'unavailable') return sleep(250).then(() => call(url, body, key));
  if (!reply.ok) throw new Error(`${url} answered ${reply.status}: ${JSON.stringify(answer)}`);
  return answer;
}

export function register(api: string): Promise<{ readonly apiKey: string; readonly depositAddress: string }> {
  return call(`${api}/agent/register`, {
    email: `${randomUUID()}@example.com`,
    password: 'correct horse',
    name: 'Ada',
  });
}
