import { createRequire } from 'node:module';
import { getAddress, isAddress } from 'viem';
import { z } from 'zod';
import { isVisible } from '../kernel/text/visible-text.ts';

/** The fields of an account in requests and responses. */

export const email = z
  .string()
  .trim()
  // Checked before lower-casing, because some non-ASCII letters fold into ASCII ones.
  .regex(/^[\x21-\x7e]+$/, 'must be an email address')
  .toLowerCase()
  .max(254, 'must be at most 254 characters')
  .pipe(z.email({ error: 'must be an email address' }))
  .meta({ description: 'Case-insensitive.', format: 'email' });

export const handle = z
  .string()
  .trim()
  .regex(/^PA-[A-Z0-9]{8}$/i, 'must be "PA-" followed by 8 letters or digits')
  .toUpperCase()
  .meta({ description: '"PA-" followed by 8 letters or digits.' });

export const password = z.string().min(8, 'must be at least 8 characters').max(1024, 'must be at most 1024 characters');

export const otp = z.string().trim().min(1, 'must not be empty').max(40, 'must be at most 40 characters').meta({
  description:
    'Only for an account with a second factor: the code of your authenticator app, or a recovery code. Each works once.',
});

const unseen = 'must not contain invisible characters, such as zero-width or text-direction characters';

export const name = visibleText(200);

/** One line that others and their models read: it must not contain control, bidirectional or invisible characters. */
export function visibleText(longest: number) {
  return someText(longest).refine(isVisible, unseen);
}

/** Like `visibleText`, but with line breaks. */
export function visibleLines(longest: number) {
  return someText(longest).refine((text) => isVisible(text.replaceAll(/[\r\n\t]/g, ' ')), unseen);
}

function someText(longest: number) {
  return z.string().trim().min(1, 'must not be empty').max(longest, `must be at most ${longest} characters`);
}

export const phone = z
  .string()
  .max(40, 'must be a phone number with country code, such as +14155550123')
  .transform((text, context) => {
    const number = toE164(text);
    if (number === undefined) context.addIssue('must be a phone number with country code, such as +14155550123');
    return number ?? z.NEVER;
  })
  .meta({ description: 'With country code, in any common format; stored in E.164 format.' });

/** E.164 allows 15 digits; the library accepts more for some countries. */
const e164 = /^\+[1-9]\d{4,14}$/;

const require = createRequire(import.meta.url);

/** The library loads about a hundred files with the rules of every country, so it is loaded with the first number, not at start. */
function loadPhoneNumbers(): typeof import('libphonenumber-js') {
  return require('libphonenumber-js');
}

/** Returns +<digits>, or undefined for an invalid number. Accepts spaces, brackets, dashes and dots. */
export function toE164(text: string): string | undefined {
  const number = loadPhoneNumbers().parsePhoneNumberFromString(text.trim(), { extract: false });
  if (number === undefined || number.ext !== undefined || !number.isPossible()) return undefined;
  return e164.test(number.number) ? number.number : undefined;
}

/** The country of a number, or its calling code where several countries share it and the number does not tell. */
export function countryOf(phone: string): string {
  const number = loadPhoneNumbers().parsePhoneNumberFromString(phone);
  return number?.country ?? `+${number?.countryCallingCode ?? '?'}`;
}

export const withdrawalAddress = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, { error: 'must be "0x" followed by 40 hexadecimal characters', abort: true })
  .refine(hasRightChecksum, 'has an invalid EIP-55 checksum: check it for typos')
  .transform((text) => getAddress(text))
  .meta({ description: 'A Polygon (EVM) address. A mixed-case address must have a valid EIP-55 checksum.' });

/** An address in one case carries no checksum; in mixed case the case is the checksum. */
function hasRightChecksum(address: string): boolean {
  const digits = address.slice(2);
  if (digits === digits.toLowerCase() || digits === digits.toUpperCase()) return true;
  return isAddress(address, { strict: true });
}

export const shippingAddress = visibleLines(500);

export const shownKey = z
  .string()
  .meta({ description: 'Begins with pa_live_. It is shown only once: store it like a password.' });

export const exampleKey = 'pa_live_EXAMPLEexampleEXAMPLEexampleEXAMPLEabc';

export const nextSteps = z.array(z.string()).meta({
  description:
    'What is left to verify and how, in plain text for agents and people. Empty when everything is verified.',
});

export const code = z.string().regex(/^\d{6}$/, 'must be the 6 digits of the code');
