import { describe, expect, test } from 'vitest';
import * as field from './fields.ts';

describe('phone', () => {
  test.each([
    ['+14155550123', '+14155550123'],
    ['+1 (415) 555-0123', '+14155550123'],
    ['+1.415.555.0123', '+14155550123'],
    ['+49 30 901820', '+4930901820'],
    ['+44 (0)20 7946 0958', '+442079460958'],
  ])('%s', (text, expected) => {
    expect(field.phone.parse(text)).toBe(expected);
  });

  test.each(['', '4155550123', '+1', '+1415', 'phone', '+99999999999999999'])('"%s" is none', (text) => {
    expect(field.phone.safeParse(text).success).toBe(false);
  });
});

describe('withdrawal address', () => {
  const checksummed = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F';
  test('in one case or with its checksum, and kept with its checksum', () => {
    for (const spelling of [checksummed, checksummed.toLowerCase(), `0x${checksummed.slice(2).toUpperCase()}`]) {
      expect(field.withdrawalAddress.parse(spelling)).toBe(checksummed);
    }
  });

  test.each([
    checksummed.replace('C', 'c'),
    checksummed.slice(0, -1),
    checksummed.slice(2),
    `${checksummed}0`,
    `0X${checksummed.slice(2)}`,
    'ada.eth',
  ])('%s is none', (text) => {
    expect(field.withdrawalAddress.safeParse(text).success).toBe(false);
  });
});

describe('email and handle', () => {
  test('one spelling is kept', () => {
    expect(field.email.parse(' Ada.L+x@Example.COM ')).toBe('ada.l+x@example.com');
    expect(field.handle.parse(' pa-abcd1234')).toBe('PA-ABCD1234');
  });

  test('letters that only fold into ours are not ours', () => {
    expect(field.email.safeParse('\u212aate@example.com').success).toBe(false);
    expect(field.handle.safeParse('PA-\u0131BCD1234').success).toBe(false);
  });

  test('a name may be in any script', () => {
    for (const name of ['Ada', 'Ада', '愛', 'عائشة', 'Ada 👩‍💻']) expect(field.name.safeParse(name).success).toBe(true);
  });
});
