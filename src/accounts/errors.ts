import { defineErrors } from '../kernel/http/problem.ts';

export const addressErrors = defineErrors({
  shipping_address_incomplete: {
    status: 400,
    title: 'Shipping address incomplete',
    detail:
      'The address lacks required parts: `missing` lists them, and `understood` shows the parts that were recognised. Nothing was saved or charged. Complete the address and send it again.',
  },
  shipping_address_too_long: {
    status: 400,
    title: 'Shipping address too long',
    detail:
      'A part of the shipping address has more than `longest` characters; `tooLong` lists each such part. Nothing was saved or charged. Shorten the address and send it again.',
  },
});

export const accountErrors = defineErrors({
  wrong_password: {
    status: 401,
    title: 'Wrong password',
    detail:
      'The password does not match the account with this email. Check it, or reset it with POST /account/password/reset.',
  },
  second_factor_required: {
    status: 401,
    title: 'Second factor required',
    detail:
      'The password is right, and the account has a second factor. Send `otp` as well: the code of your authenticator app, or a recovery code.',
  },
  wrong_second_factor: {
    status: 401,
    title: 'Wrong second factor',
    detail:
      'The code is wrong, too old, or was used before. Each code works once. Send the next code of your authenticator app, or a recovery code.',
  },
  otp_required: {
    status: 403,
    title: 'Code required',
    detail:
      'The account has a second factor, and a key alone may not do this. Send `otp` as well: the code of your authenticator app, or a recovery code.',
  },
  wrong_otp: {
    status: 403,
    title: 'Wrong code',
    detail:
      'The code is wrong, too old, or was used before. Each code works once. Send the next code of your authenticator app, or a recovery code.',
  },
  too_many_attempts: {
    status: 429,
    title: 'Too many attempts',
    detail: 'There were too many attempts. Wait the number of seconds in Retry-After, then try again.',
  },
  too_many_registrations: {
    status: 429,
    title: 'Too many new accounts',
    detail:
      'Your network has reached its daily limit of new accounts. Wait the number of seconds in Retry-After, then try again.',
  },
  session_not_found: {
    status: 404,
    title: 'Session not found',
    detail: 'Your account has no open session with this id. GET /account/sessions lists your sessions.',
  },
  key_not_found: {
    status: 404,
    title: 'Key not found',
    detail: 'Your account has no key with this id. GET /account/keys lists your keys.',
  },
  key_outlives_maker: {
    status: 403,
    title: 'Expiry too late',
    detail:
      'A key can only create or rotate keys that expire no later than itself, and no key expires later than its parent. Choose an earlier expiry, or sign in.',
  },
  key_tree_too_deep: {
    status: 409,
    title: 'Key tree too deep',
    detail:
      'The tree of keys has at most 8 levels, and the parent is on the last one. Create the key below a key that is further up.',
  },
  too_many_keys: {
    status: 409,
    title: 'Too many keys',
    detail:
      'The account has 1,000 working keys, which is the most. Revoke keys that you do not need with DELETE /account/keys/{id}, then try again.',
  },
  key_frozen: {
    status: 403,
    title: 'Key frozen',
    detail: 'This key, or a key above it, is frozen. It can read, and pays nothing until it is unfrozen.',
  },
  not_an_ancestor: {
    status: 403,
    title: 'Not above the key',
    detail: 'Only a key above this one in the tree of keys may do this. Use its parent or a key further up.',
  },
  key_ended: {
    status: 409,
    title: 'Key no longer valid',
    detail:
      'The key was revoked or has expired, so it cannot be rotated. Create a new one with POST /account/keys, or sign in.',
  },
  key_has_no_secret: {
    status: 409,
    title: 'Key without a secret',
    detail:
      'A connected client holds this key by tokens, which it renews every hour, so there is nothing to rotate. Revoke the key to disconnect the client.',
  },
  key_already_rotated: {
    status: 409,
    title: 'Key already rotated',
    detail: 'A newer key has replaced this one. Rotate the newer key instead.',
  },
  password_too_common: {
    status: 400,
    title: 'Password too common',
    detail:
      'This password appears in known data breaches or matches your name or email, so it is easy to guess. Choose another one.',
  },
  reset_token_invalid: {
    status: 400,
    title: 'Reset token invalid',
    detail:
      'The token is unknown, already used, expired or replaced by a newer one. Request a new one with POST /account/password/reset.',
  },
  email_not_verified: {
    status: 403,
    title: 'Email not verified',
    detail:
      'Text messages are sent only to accounts with a verified email. Verify your email first with POST /account/email/verify.',
  },
  account_not_found: {
    status: 404,
    title: 'No such account',
    detail: 'No account matches. Check the handle or email.',
  },
  phone_taken: {
    status: 409,
    title: 'Phone number already in use',
    detail: 'Another account has verified this phone number. Remove it there first, or use another number.',
  },
  email_taken: {
    status: 409,
    title: 'Email already in use',
    detail:
      'Another account has verified this email. Sign in to that account and change its email or close it, or use another email.',
  },
  balance_not_zero: {
    status: 409,
    title: 'Balance not zero',
    detail:
      'The account still holds money: `balances` lists it by chain and asset. Withdraw it or transfer it to another account, then try again.',
  },
  account_busy: {
    status: 409,
    title: 'Account busy',
    detail:
      'Operations of this account are still in progress: `underWay` lists them. Wait until they finish or cancel them, then try again.',
  },
  wrong_code: {
    status: 400,
    title: 'Wrong code',
    detail: 'The code does not match the one that was sent. Check it and try again.',
  },
  no_code_waiting: {
    status: 400,
    title: 'No code to verify',
    detail: 'There is nothing to verify, or the code has expired or has no attempts left. Request a new code.',
  },
});
