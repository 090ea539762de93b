import { afterAll, expect, it } from 'vitest';
import { createOutgoing } from '../kernel/outgoing/outgoing.ts';
import { createSecrets } from '../kernel/secrets/secrets.ts';
import { attemptDelivery } from './attempt.ts';

const addresses: Readonly<Record<string, readonly string[]>> = {
  'inside.example.com': ['10.0.0.1'],
  'nowhere.example.com': [],
  'deserted.example.com': ['8.8.8.8'],
};

const outgoing = createOutgoing({
  allowPrivateHosts: [],
  lookup: async (name) => addresses[name] ?? [],
  dial: (_options, callback) => {
    queueMicrotask(() => callback(Object.assign(new Error('nobody'), { code: 'ECONNREFUSED' }), null));
  },
});
afterAll(() => outgoing.close());

const parts = {
  outgoing,
  secrets: createSecrets('s'.repeat(32)),
  clock: { now: () => 0 },
  retrySeconds: [10, 60, 360],
  timeoutMs: 1_000,
};

it('tells a private address like a name that leads nowhere and like a host where nobody answers', async () => {
  const delivery = { id: 'd', accountId: 1n, webhookId: 'w', claimId: 'c', eventId: 'e', body: '{}', attemptsMade: 0 };
  const results = await Promise.all(
    Object.keys(addresses).map((host) => {
      const webhook = {
        id: 'w',
        accountId: 1n,
        url: `https://${host}/`,
        sealedSecret: null,
        status: 'active' as const,
      };
      return attemptDelivery(parts, webhook, delivery);
    }),
  );
  // Jitter makes the next attempt random.
  const [inside, ...others] = results.map(({ next: { status }, ...told }) => ({ ...told, status }));
  expect(inside).toMatchObject({ responseCode: null, error: 'The host could not be reached.', responseBody: null });
  for (const other of others) expect(other).toEqual(inside);
});
