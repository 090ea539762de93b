export interface Unproved {
  /** Null when the account has no email. */
  readonly email: string | null;
  readonly emailVerified: boolean;
  readonly pendingPhone?: string | null;
}

/** Says how to verify what is still unverified, in sentences for agents and people. Empty when everything is verified. */
export function nextSteps({ email, emailVerified, pendingPhone = null }: Unproved): string[] {
  const steps: string[] = [];
  if (email !== null && !emailVerified) {
    steps.push(
      `Verify your email: send the 6-digit code from our mail to ${email} to POST /account/email/verify, as {"code": "123456"}. If no mail arrived or the code has expired, POST /account/email/code sends a new one. Until you verify it, others can find your account by handle but not by this email.`,
    );
  }
  if (pendingPhone !== null) {
    steps.push(
      `Verify your phone number: send the 6-digit code from our SMS to ${pendingPhone} to POST /account/phone/verify, as {"code": "123456"}. POST /account/phone/code sends a new one. Until you verify it, others cannot find your account by this number.`,
    );
  }
  return steps;
}
