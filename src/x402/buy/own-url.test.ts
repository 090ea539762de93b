import { describe, expect, test } from 'vitest';
import { isOwnUrl } from './own-url.ts';

describe('on this machine', () => {
  const own = 'http://127.0.0.1:8402';

  test.each([
    'http://127.0.0.1:8402/api/nano/lookup',
    'http://localhost:8402/api/nano/lookup',
    'http://LOCALHOST.:8402/',
    'http://[::1]:8402/',
    'http://127.1:8402/',
    'http://2130706433:8402/',
    'http://0x7f.0.0.1:8402/',
    'http://0.0.0.0:8402/',
    'http://[::ffff:127.0.0.1]:8402/',
    'https://127.0.0.1:8402/',
  ])('%s is ours', (url) => {
    expect(isOwnUrl(url, own)).toBe(true);
  });

  test.each([
    'http://127.0.0.1:8403/',
    'http://example.com:8402/',
    'http://128.0.0.1:8402/',
    'nonsense',
    'ftp://127.0.0.1:8402/',
  ])('%s is not', (url) => {
    expect(isOwnUrl(url, own)).toBe(false);
  });
});

describe('behind a name', () => {
  const own = 'https://pay.example.com';

  test.each(['https://pay.example.com/api', 'https://PAY.example.com.:443/', 'http://pay.example.com/'])(
    '%s is ours',
    (url) => {
      expect(isOwnUrl(url, own)).toBe(true);
    },
  );

  test.each(['https://pay.example.com:8443/', 'https://api.pay.example.com/', 'https://example.com/'])(
    '%s is not',
    (url) => {
      expect(isOwnUrl(url, own)).toBe(false);
    },
  );
});
