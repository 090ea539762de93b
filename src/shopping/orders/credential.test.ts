import { createHash } from 'node:crypto';
import type pg from 'pg';
import { expect, it } from 'vitest';
import type { Queryable } from '../../kernel/db/database.ts';
import { createSecrets, hashKeysOf } from '../../kernel/secrets/secrets.ts';
import { issuedToken, newCredentialToken } from './credential.ts';

const [old, fresh] = ['o'.repeat(32), 'n'.repeat(32)];

/** A database with only this token's hash. */
const knowing = (token: string): Queryable => ({
  query: async <Row extends pg.QueryResultRow>() =>
    ({ rows: [{ tokenHash: createHash('sha256').update(token).digest() }] }) as unknown as pg.QueryResult<Row>,
});

it('is sent again as it was issued, also when the secret was replaced meanwhile', async () => {
  const before = newCredentialToken(createSecrets(old), 'ord_1');
  const secrets = createSecrets(fresh, { former: [hashKeysOf(old)] });
  expect(await issuedToken(knowing(before), secrets, 'ord_1')).toBe(before);
  const after = newCredentialToken(secrets, 'ord_1');
  expect(after).not.toBe(before);
  expect(await issuedToken(knowing(after), secrets, 'ord_1')).toBe(after);
  await expect(issuedToken(knowing(before), createSecrets(fresh), 'ord_1')).rejects.toThrow('is not known');
});
