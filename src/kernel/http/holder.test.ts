import { expect, it } from 'vitest';
import { type Caller, scopes } from './define-route.ts';
import { holderOf } from './holder.ts';

const caller: Caller = { accountId: 7n, keyId: '', handle: '', tier: 'free', scopes, bucket: '' };

it('is the account of a key, at its address', () => {
  expect(holderOf({ caller, ip: '192.0.2.1' })).toEqual({
    caller: 'account 7',
    address: '192.0.2.1',
    network: undefined,
  });
});

it('is the address of a request without a key: in IPv6 its /64, and the /48 around it', () => {
  expect(holderOf({ ip: '::ffff:192.0.2.1' })).toMatchObject({ caller: '192.0.2.1', address: '192.0.2.1' });
  const [one, neighbour, other] = ['2001:db8:1:2::1', '2001:db8:1:2:ffff::', '2001:db8:1:3::1'].map((ip) =>
    holderOf({ ip }),
  );
  expect(one).toEqual({ caller: '2001:db8:1:2::/64', address: '2001:db8:1:2::/64', network: '2001:db8:1::/48' });
  expect(neighbour).toEqual(one);
  expect(other).toMatchObject({ address: '2001:db8:1:3::/64', network: '2001:db8:1::/48' });
});
