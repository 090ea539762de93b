import { expect, test, vi } from 'vitest';
import { isUnencrypted } from './unencrypted-connection.ts';

test.each([
  'postgres://u:p@127.0.0.1/d',
  'postgres://u:p@localhost:5433/d',
  'postgres://u:p@[::1]/d',
  'postgres:///d?host=/var/run/postgresql',
  'postgres://u:p@%2Fvar%2Frun%2Fpostgresql/d',
  'postgres://u:p@db.internal/d?sslmode=verify-full',
  'postgres://u:p@db.internal/d?sslmode=require',
  'postgres://u:p@db.internal/d?ssl=true',
])('%s is for nobody else', (url) => {
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  expect(isUnencrypted(url)).toBe(false);
});

test.each([
  'postgres://u:p@db.internal/d',
  'postgres://u:p@db.internal/d?sslmode=disable',
  'postgres://u:p@db.internal/d?sslmode=no-verify',
  'postgres://u:p@db.internal/d?uselibpqcompat=true&sslmode=require',
  'postgres://u:p@localhost/d?host=db.internal',
  'postgres://u:p@localhost.example.com/d',
  'postgres://u:p@10.0.0.7/d?ssl=0',
])('%s is', (url) => {
  expect(isUnencrypted(url)).toBe(true);
});
