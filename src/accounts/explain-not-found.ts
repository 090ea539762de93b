import type { AccountIdentifier } from './find-account.ts';

/**
 * Why nobody was found, and what the other side can do about it. It says the same whether there is such an account or not: an
 * email or phone number that its owner has not verified tells a stranger nothing.
 */
export function explainNotFound(by: AccountIdentifier): string {
  if ('handle' in by) return 'No account has this handle. Check the spelling: "PA-" followed by 8 letters or digits.';
  const [noun, message, path] = 'email' in by ? ['email', 'mail', 'email'] : ['phone number', 'SMS', 'phone'];
  return `No account has verified this ${noun}. If the recipient has an account, ask them to verify it with the code from our ${message} (POST /account/${path}/verify; POST /account/${path}/code sends a new code), or use their handle ("PA-…"), which always works.`;
}
