import { defineErrors } from '../kernel/http/problem.ts';

export const accountErrors = defineErrors({
  wrong_password: {
    status: 401,
    title: 'Wrong password',
    detail: 'An account with this email exists and its password is another one.',
  },
  too_many_attempts: {
    status: 429,
    title: 'Too many attempts',
    detail: 'There were too many wrong attempts. Retry-After says how many seconds to wait.',
  },
  too_many_registrations: {
    status: 429,
    title: 'Too many new accounts',
    detail: 'Your network has made as many accounts today as it may. Retry-After says how many seconds to wait.',
  },
  key_not_found: { status: 404, title: 'No such key', detail: 'You have no key with this id.' },
  key_outlives_maker: {
    status: 403,
    title: 'The key would outlive the one that makes it',
    detail: 'A key makes only keys that end no later than itself.',
  },
  key_ended: {
    status: 409,
    title: 'The key has ended',
    detail:
      'The key was revoked or has expired, so it cannot be rotated. Make a new one with POST /account/keys, or sign in.',
  },
  key_already_rotated: {
    status: 409,
    title: 'The key was rotated already',
    detail: 'Another key replaces this one. Rotate that key instead.',
  },
  password_too_common: {
    status: 400,
    title: 'Password too common',
    detail:
      'This password is known from breaches, or is a name of the account. Others would try it first: choose another one.',
  },
  reset_token_invalid: {
    status: 400,
    title: 'The token is not valid',
    detail: 'It was never given out, was used, has expired, or a newer one has taken its place. Ask for a new one.',
  },
  email_not_verified: {
    status: 403,
    title: 'Verify your email first',
    detail: 'A text message is sent only for an account whose email is verified (POST /account/email/verify).',
  },
  account_not_found: { status: 404, title: 'No such account', detail: 'No account matches.' },
  phone_taken: {
    status: 409,
    title: 'Phone number taken',
    detail: 'This number belongs to another account, which has to let go of it first.',
  },
  email_taken: {
    status: 409,
    title: 'Email taken',
    detail: 'Another account has verified this email. Sign in there, and give it another email or close it first.',
  },
  balance_not_zero: {
    status: 409,
    title: 'The account still holds money',
    detail: 'Withdraw it, or send it to another account, and try again. `balances` says what is left and where.',
  },
  account_busy: {
    status: 409,
    title: 'Something is still under way',
    detail: 'Wait until it has ended, or end it, and try again. `underWay` lists it.',
  },
  wrong_code: { status: 400, title: 'Wrong code', detail: 'This is not the code that was sent.' },
  no_code_waiting: {
    status: 400,
    title: 'No code is waiting',
    detail: 'There is nothing to verify, or the code has expired or was tried too often. Ask for a new one.',
  },
});
