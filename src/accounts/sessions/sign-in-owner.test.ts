import { describe, expect, it } from 'vitest';
import { createSecrets } from '../../kernel/secrets/secrets.ts';
import { type OwnerSignInParts, openPending, sealPending, signInOwner } from './sign-in-owner.ts';

/** Nobody has an account here. */
function emptyService() {
  const admitted: string[] = [];
  const attempts: { readonly accountId: bigint; readonly hash: string; readonly password: string }[] = [];
  const parts = {
    db: { query: async () => ({ rows: [] }) },
    secrets: createSecrets('a secret of a test that is long enough'),
    passwords: { hash: async (password: string) => `hash of ${password}` },
    throttle: {
      admitRegistration: async (ip: string) => void admitted.push(ip),
      matches: async (attempt: (typeof attempts)[number]) => {
        attempts.push(attempt);
        return false;
      },
    },
  } as unknown as OwnerSignInParts;
  const signIn = (email: string) =>
    signInOwner(parts, {
      email,
      password: 'a guess',
      ip: '192.0.2.1',
      browser: undefined,
      formerToken: undefined,
      cookie: '',
    });
  return { admitted, attempts, signIn };
}

it('throttles an unknown email like an account, and checks a password for it', async () => {
  const { admitted, attempts, signIn } = emptyService();
  for (const email of ['ada@example.com', 'ada@example.com', 'grace@example.com']) {
    await expect(signIn(email)).rejects.toMatchObject({ code: 'wrong_password' });
  }
  expect(admitted).toEqual(['192.0.2.1', '192.0.2.1', '192.0.2.1']);
  const [first, again, other] = attempts;
  expect([first?.accountId === again?.accountId, first?.accountId === other?.accountId]).toEqual([true, false]);
  // No account has such a number.
  for (const { accountId, hash, password } of attempts) {
    expect([accountId < 0n, hash.startsWith('hash of '), password]).toEqual([true, true, 'a guess']);
  }
  expect(new Set(attempts.map(({ hash }) => hash)).size).toBe(1);
});

describe('the second step', () => {
  const secrets = createSecrets('a secret of a test that is long enough');
  let now = 1_800_000_000_000;
  const account = { id: 7n, email: 'ada@example.com', tier: 'free', passwordHash: 'a hash' } as const;
  const parts = { db: { query: async () => ({ rows: [account] }) }, secrets, clock: { now: () => now } };
  const open = (pending: string, cookie = 'a browser') =>
    openPending(parts as unknown as OwnerSignInParts, { pending, cookie });
  const begin = () => sealPending(parts as unknown as OwnerSignInParts, account, 'a browser');

  it('may take five minutes, in the same browser', async () => {
    const pending = begin();
    now += 5 * 60_000;
    expect(await open(pending)).toMatchObject({ id: 7n });
    expect(await open(pending, 'another browser')).toBeUndefined();
    now += 1;
    expect(await open(pending)).toBeUndefined();
  });

  it('is refused where what it needs was changed', async () => {
    const bytes = Buffer.from(begin(), 'base64url');
    for (const at of bytes.keys()) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(await open(changed.toString('base64url'))).toBeUndefined();
    }
  });
});
