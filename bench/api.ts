import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

/** Asks the service, as somebody's agent does. Whatever is not answered as it should be is thrown. */
// biome-ignore lint/suspicious/noExplicitAny: whoever calls names the fields that are expected
export async function call(url: string, body?: object, key?: string): Promise<any> {
  const reply = await fetch(url, {
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    },
  });
  const answer = (await reply.json()) as { readonly code?: string };
  // On a machine that is busy with other things somebody may be told to come again: nothing has happened then.
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
