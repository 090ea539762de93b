import { defineErrors } from '../../kernel/http/problem.ts';

/** Errors of the owner's pages. Those of the API are in `accounts/errors.ts`. */
export const factorErrors = defineErrors({
  proof_needed: {
    status: 403,
    title: 'Is it you?',
    detail:
      'Nothing was changed, because you last entered your password more than five minutes ago. Enter it again and repeat the change.',
  },
  totp_already_on: {
    status: 409,
    title: 'Codes are on already',
    detail:
      'Nothing was changed: codes of an authenticator app are on already. Turn them off first to use another app.',
  },
  totp_not_begun: {
    status: 409,
    title: 'Nothing to turn on',
    detail: 'Nothing was changed: the codes were turned on already, or their setup was started again. Start again.',
  },
  no_second_factor: {
    status: 409,
    title: 'No second factor',
    detail: 'Recovery codes belong to a second factor. Turn on codes of an authenticator app, or add a passkey, first.',
  },
  passkey_refused: {
    status: 400,
    title: 'Passkey refused',
    detail: 'The passkey is not one of this account, or its answer is too old or was used before. Try again.',
  },
  passkey_known: {
    status: 409,
    title: 'Passkey known already',
    detail: 'This passkey belongs to an account already. Nothing was changed.',
  },
  too_many_passkeys: {
    status: 409,
    title: 'Too many passkeys',
    detail: 'An account has at most 20 passkeys. Remove one that you do not need, then try again.',
  },
  passkey_not_found: {
    status: 404,
    title: 'Passkey not found',
    detail: 'Your account has no such passkey. It may have been removed already.',
  },
  sign_in_expired: {
    status: 401,
    title: 'Sign in again',
    detail: 'The sign-in took longer than five minutes, or the password was changed meanwhile. Sign in again.',
  },
});
