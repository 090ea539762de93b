import { describe, expect, it } from 'vitest';
import { urlsOfHosts } from '../several-hosts.ts';
import { readDatabaseUrl } from './writable-client.ts';

const hosts = (text: string) => {
  const read = readDatabaseUrl(text);
  return read === undefined ? undefined : urlsOfHosts(read);
};

describe('the hosts of a database URL', () => {
  it.each([
    ['postgres://u:p@one/d', ['postgres://u:p@one/d']],
    ['postgres://u:p@one/d?target_session_attrs=read-write', ['postgres://u:p@one/d']],
    ['postgres:///d?host=/run/pg', ['postgres:///d?host=/run/pg']],
    ['postgres://one:p@one:5433,two/d', ['postgres://one:p@one:5433/d', 'postgres://one:p@two/d']],
    [
      'postgresql://u:p%40,x@[::1]:1,10.0.0.2:2,three/d?sslmode=verify-full&target_session_attrs=primary',
      ['[::1]:1', '10.0.0.2:2', 'three'].map((host) => `postgresql://u:p%40,x@${host}/d?sslmode=verify-full`),
    ],
  ])('%s', (text, expected) => {
    expect(hosts(text)).toEqual(expected);
  });

  it.each([
    ['postgres://u@one,/d'],
    ['postgres://u@,two/d'],
    ['postgres://u@one:port,two/d'],
    ['postgres://u@one,two:99999/d'],
    ['postgres://u@one,two/d?target_session_attrs=any'],
    ['postgres://u@one/d?target_session_attrs=standby'],
    ['postgres://u@one/d?other_hosts=two'],
  ])('refuses %s', (text) => {
    expect(hosts(text)).toBeUndefined();
  });
});
