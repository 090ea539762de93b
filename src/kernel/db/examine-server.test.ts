import { expect, test } from 'vitest';
import { refuseOldServer } from './examine-server.ts';

test.each(['15.0', '15.18 (Debian 15.18-0+deb12u1)', '16beta2', '18.4', '19devel'])(
  'PostgreSQL %s is new enough',
  (version) => {
    expect(() => refuseOldServer(version)).not.toThrow();
  },
);

test.each([
  ['14.20 (Debian 14.20-1)', '14.20'],
  ['9.6.24', '9.6.24'],
  ['13beta1', '13beta1'],
])('PostgreSQL %s is not', (version, shown) => {
  expect(() => refuseOldServer(version)).toThrow(`PostgreSQL 15 or newer is needed, this one is ${shown}.`);
});
