import type { AccountIdentifier } from './find-account.ts';

/**
 * Why no account was found and what the recipient can do. The text is the same whether such an account exists or not,
 * so an unverified email or phone number reveals nothing.
 */
export function explainNotFound(by: AccountIdentifier): string {
  if ('handle' in by) return 'No account has this handle. Check the spelling: "PA-" followed by 8 letters or digits.';
  const [noun, message, path] = 'email' in by ? ['email', 'mail', 'email'] : ['phone number', 'SMS', 'phone'];
  return `No account has verified this ${noun}. If the recipient has an account, ask them to verify it with the code from our ${message} (POST /account/${path}/verify; POST /account/${path}/code sends a new code), or use their handle ("PA-…"), which always works.`;
}
