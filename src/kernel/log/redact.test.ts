import { expect, test } from 'vitest';
import { redactText } from './redact.ts';

test.each([
  ['key pa_live_abcDEF123 was used', 'key pa_live_[redacted] was used'],
  ['Authorization: Bearer abc.def', 'Authorization: Bearer [redacted]'],
  ['Key (email)=(ada.l+x@mail.example.com) exists', 'Key (email)=([email]) exists'],
  ['postgres://user:pass@host/db', 'postgres://[redacted]@host/db'],
  ['call +1 415 555-0123 now', 'call [phone] now'],
  [`sig 0x${'ab'.repeat(65)}.`, 'sig 0x[redacted].'],
  ['nothing to hide', 'nothing to hide'],
])('%s', (text, expected) => {
  expect(redactText(text)).toBe(expected);
});
